"""What the SQL checks promise about the statements of the store."""

from __future__ import annotations

import pytest

from checks.sources import Source
from checks.sql import check_sql
from checks.sql.schema import CROSS_SPACE_MODULE

MIGRATION = Source(
    "src/perdure/store/migrations/0001_x.sql",
    """
    CREATE TABLE memories (
        space_id bigint NOT NULL, id bigserial NOT NULL, text text, created_at timestamptz, due_at timestamptz,
        attempts integer, day date, CONSTRAINT memories_pkey PRIMARY KEY (space_id, id));
    CREATE TABLE terms (space_id bigint NOT NULL, term text, memory_id bigint);
    ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
    ALTER TABLE terms ENABLE ROW LEVEL SECURITY;
    CREATE POLICY m ON memories USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
    CREATE POLICY t ON terms USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
    """,
)


def rules_broken(statement: str, *, path: str = "src/perdure/store/memories.py") -> list[str]:
    source = Source(path, f"FIND = {statement!r}\n")
    return [violation.rule for violation in check_sql([source], [MIGRATION])]


SCOPED = "space_id = %(space_id)s"
UPDATE = f"UPDATE memories SET {{}} WHERE {SCOPED} AND id = %(id)s"
UPSERT = (
    "INSERT INTO memories (space_id, id, text) VALUES (%(space_id)s, %(id)s, %(text)s) ON CONFLICT (space_id, id) DO {}"
)


@pytest.mark.parametrize(
    ("rule", "statement"),
    [
        ("rule 7", UPDATE.format("space_id = 3")),
        ("rule 9", "SELECT id FROM memories WHERE id = %(id)s"),
        ("rule 9", "SELECT id FROM memories WHERE space_id = 3"),
        ("rule 9", "SELECT q.id FROM {queue} q WHERE q.id = %(id)s"),
        ("rule 9", "SELECT id FROM memories WHERE space_id = %(other)s"),
        ("rule 9", "SELECT id FROM memories WHERE space_id > %(space_id)s"),
        ("rule 9", f"SELECT id FROM memories WHERE {SCOPED} OR id = %(id)s"),
        (
            "rule 9",
            "SELECT m.id FROM memories m JOIN terms t ON t.space_id = m.space_id WHERE m.space_id = %(space_id)s",
        ),
        ("rule 9", f"WITH c AS (SELECT id FROM memories) SELECT t.term FROM terms t JOIN c ON true WHERE t.{SCOPED}"),
        ("rule 9", f"SELECT id FROM memories m WHERE m.{SCOPED} AND EXISTS (SELECT 1 FROM terms t WHERE t.term = 'a')"),
        (
            "rule 9",
            (
                f"SELECT id FROM memories m WHERE m.{SCOPED} "
                "AND EXISTS (SELECT 1 FROM terms t WHERE t.space_id = m.space_id)"
            ),
        ),
        ("rule 9", f"SELECT id FROM memories WHERE {SCOPED} UNION ALL SELECT memory_id FROM terms"),
        ("rule 9", "UPDATE memories SET text = %(text)s WHERE id = %(id)s"),
        ("rule 9", f"UPDATE memories m SET text = t.term FROM terms t WHERE m.{SCOPED} AND t.memory_id = m.id"),
        ("rule 9", "DELETE FROM memories WHERE id = %(id)s"),
        ("rule 9", f"DELETE FROM memories m USING terms t WHERE m.{SCOPED} AND t.memory_id = m.id"),
        ("rule 9", "INSERT INTO memories (id, text) VALUES (%(id)s, %(text)s)"),
        ("rule 9", "INSERT INTO memories VALUES (%(space_id)s, %(id)s)"),
        ("rule 9", "INSERT INTO terms (space_id, memory_id) SELECT space_id, id FROM memories"),
        ("rule 9", "COPY memories (id, text) FROM STDIN"),
        ("rule 9", "TRUNCATE memories"),
        ("rule 9", "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = %s"),
        ("rule 12", f"SELECT * FROM memories WHERE {SCOPED}"),
        ("rule 12", f"SELECT m.* FROM memories m WHERE m.{SCOPED}"),
        ("rule 12", f"DELETE FROM memories WHERE {SCOPED} RETURNING *"),
        ("rule 12", "SET LOCAL plan_cache_mode = force_custom_plan"),
        ("rule 13", f"SELECT ctid FROM memories WHERE {SCOPED}"),
        ("rule 13", "SELECT reltuples FROM pg_catalog.pg_class"),
        ("rule 13", "SELECT pg_relation_size('memories')"),
        ("rule 14", UPDATE.format("attempts = random()")),
        ("rule 14", UPDATE.format("text = gen_random_uuid()")),
        ("rule 14", UPDATE.format("text = concat_ws(' ', text, 'x')")),
        ("rule 14", UPDATE.format("text = to_char(created_at, 'YYYY')")),
        ("rule 14", UPDATE.format("text = to_jsonb(text)")),
        ("rule 14", UPDATE.format("due_at = to_timestamp(text, 'YYYY')")),
        ("rule 14", UPDATE.format("text = created_at::text")),
        ("rule 14", UPDATE.format("day = created_at::date")),
        ("rule 14", UPDATE.format("due_at = due_at + interval '1 day'")),
        ("rule 14", UPDATE.format("due_at = %(now)s + attempts * interval '1 minute'")),
        ("rule 14", UPDATE.format("due_at = due_at + %(step)s")),
        ("rule 14", UPDATE.format("due_at = date_trunc('day', created_at)")),
        ("rule 14", UPDATE.format("attempts = extract(epoch FROM created_at)")),
        ("rule 14", UPDATE.format("text = text || attempts")),
        ("rule 14", UPDATE.format("text = a_function_nobody_knows(text)")),
        ("rule 14", f"DELETE FROM memories WHERE {SCOPED} AND created_at + interval '1 day' < %(now)s"),
        ("rule 14", f"DELETE FROM memories WHERE {SCOPED} AND created_at < day"),
        ("rule 14", UPSERT.format("UPDATE SET text = jsonb_build_object('a', excluded.text)")),
        ("rule 14", UPSERT.format("UPDATE SET text = current_setting('x')")),
        ("rule 14", UPDATE.format("text = 'x'") + " RETURNING created_at::text"),
        ("rule 14", UPDATE.format("text = 'x'") + " RETURNING to_jsonb(text)"),
        (
            "rule 15",
            "INSERT INTO memories (space_id, id) VALUES (%(space_id)s, (SELECT 3))",
        ),
        ("rule 15", UPSERT.format("UPDATE SET text = (SELECT 'x')")),
        ("rule 15", "MERGE INTO spaces s USING spaces u ON s.id = u.id WHEN MATCHED THEN DELETE"),
        ("rule 21", "SELECT pg_advisory_xact_lock(1)"),
        ("rule 21", "SELECT pg_try_advisory_lock(1)"),
        ("rule 22", "LISTEN work"),
        ("rule 22", "NOTIFY work"),
        ("rule 23", "SET statement_timeout = 3"),
        ("rule 23", "SET SESSION search_path = x"),
        ("rule 23", "SELECT set_config('perdure.space_id', '1', true)"),
        ("rule 23", "DECLARE c CURSOR WITH HOLD FOR SELECT 1"),
        ("rule 23", "CREATE TEMP TABLE t (a int)"),
        ("rule 23", "CREATE TEMP TABLE t AS SELECT 1"),
        ("rule 23", "PREPARE p AS SELECT 1"),
        ("rule g", f"SELECT id FROM memories WHERE {SCOPED} AND created_at < now()"),
        ("rule g", f"SELECT CURRENT_DATE - day FROM memories WHERE {SCOPED}"),
        ("rule h", "SELECT uuidv7()"),
        ("rule h", f"SELECT unaccent(text) FROM memories WHERE {SCOPED}"),
        ("rule h", UPDATE.format("text = 'x'") + " RETURNING old.text"),
        ("rule h", "SELECT JSON_OBJECT('a': 1)"),
        ("unparsable", "SELECT id FORM memories WHERE"),
    ],
)
def test_a_statement_that_breaks_a_rule_is_reported_under_it(rule: str, statement: str) -> None:
    assert set(rules_broken(statement)) == {rule}


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT id FROM memories WHERE {SCOPED} AND id = %(id)s",
        "SELECT id FROM memories WHERE %(space_id)s = space_id",
        "SELECT id FROM memories WHERE space_id = %(space_id)s::bigint",
        "SELECT id FROM memories WHERE space_id = ANY(%(space_ids)s)",
        f"SELECT m.id FROM memories m JOIN terms t ON t.space_id = m.space_id AND t.{SCOPED} WHERE m.{SCOPED}",
        f"SELECT m.id FROM memories m JOIN terms t USING (space_id) WHERE {SCOPED}",
        f"WITH c AS (SELECT id FROM memories WHERE {SCOPED}) SELECT id FROM c",
        f"WITH memories AS (SELECT 1 AS id FROM memories WHERE {SCOPED}) SELECT id FROM memories",
        f"SELECT id FROM memories m WHERE m.{SCOPED} AND EXISTS (SELECT 1 FROM terms t WHERE t.{SCOPED})",
        "SELECT count(*) FROM spaces",
        f"SELECT extract(epoch FROM created_at), created_at + interval '1 day', random() FROM memories WHERE {SCOPED}",
        UPDATE.format("text = coalesce(text, '') || 'x', attempts = attempts + 1"),
        UPDATE.format(
            "attempts = greatest(1, least(attempts, 3)) * exp(ln(2) * extract(epoch FROM %(now)s - created_at))"
        ),
        UPDATE.format("due_at = %(due_at)s"),
        f"DELETE FROM memories WHERE {SCOPED} AND created_at < %(now)s - interval '1 day'",
        UPDATE.format("attempts = length(text)"),
        UPDATE.format("text = 'x'") + " RETURNING id, text, (xmax = 0) AS inserted",
        (
            f"WITH c AS (SELECT id, to_char(created_at, 'YYYY') AS y FROM memories WHERE {SCOPED}) "
            f"UPDATE memories m SET text = c.y FROM c WHERE m.{SCOPED} AND m.id = c.id"
        ),
        UPSERT.format("UPDATE SET text = excluded.text WHERE memories.due_at < excluded.due_at RETURNING id"),
        UPSERT.format("NOTHING"),
        "COPY memories (space_id, id, text) FROM STDIN (FORMAT binary)",
        "SELECT now() AS now",
        "BEGIN; SET LOCAL perdure.space_id = {space_id}; SELECT now() AS now",
        "CREATE TEMP TABLE t (a int) ON COMMIT DROP",
        "CREATE INDEX {name} ON memories USING hnsw ((v::halfvec({dimensions}))) WHERE family_id = {id}",
        f"SELECT id FROM memories WHERE {SCOPED} {{filters}} ORDER BY {{order}} LIMIT %(limit)s",
        f"SELECT id FROM memories WHERE {SCOPED} AND text LIKE '10%%'",
        "WITH {members}, b AS MATERIALIZED ({query}) SELECT 1 {prior} AS rank FROM ({query}) n WHERE {all}",
        "ALTER ROLE {role} PASSWORD {password}",
    ],
)
def test_a_statement_within_the_rules_passes(statement: str) -> None:
    assert rules_broken(statement) == []


def test_only_the_crossing_module_may_look_across_spaces() -> None:
    across = "SELECT space_id FROM memories GROUP BY space_id"
    assert rules_broken(across, path=CROSS_SPACE_MODULE) == []
    assert rules_broken(across) == ["rule 9"]


@pytest.mark.parametrize(
    ("rule", "module"),
    [
        ("hidden-sql", "def f(tx):\n    tx.execute('SELECT now()')\n"),
        ("hidden-sql", "def f(tx, t):\n    tx.execute(f'SELECT id FROM {t}')\n"),
        ("hidden-sql", "FIND = f'DELETE FROM {TABLE}'\n"),
        ("hidden-sql", "find = 'SELECT id FROM spaces'\n"),
        ("hidden-sql", "def f(tx):\n    tx.execute(sql.SQL('SELECT {x}').format(x=1))\n"),
        ("rule 13", "def f(tx):\n    tx.execute(sql.SQL('m.ctid = {x}').format(x=1))\n"),
        ("rule 9", "X = sql.SQL('EXISTS (SELECT 1 FROM memories m)')\n"),
        ("rule 9", "X = sql.SQL('near AS (SELECT m.id FROM memories m),')\n"),
        ("hidden-sql", "def f(tx, t):\n    tx.execute(sql.SQL(f'm.id = {t}'))\n"),
        ("unparsable", "PART = 'm.id IN ('\nX = sql.SQL(PART)\n"),
        ("rule 13", "PART = 'AND m.ctid IS NOT NULL'\nX = sql.SQL(PART)\n"),
        ("rule 12", "SEVERAL = ('SELECT id FROM spaces', 'SELECT * FROM spaces')\n"),
        ("rule 12", "BY_NAME = {'a': 'SELECT * FROM spaces'}\n"),
        ("rule 12", "FIND: Final = 'SELECT * FROM spaces'\n"),
    ],
)
def test_no_statement_of_the_store_escapes(rule: str, module: str) -> None:
    source = Source("src/perdure/store/x.py", module)
    assert {violation.rule for violation in check_sql([source], [MIGRATION])} == {rule}


def test_prose_and_named_constants_of_the_store_pass() -> None:
    module = Source(
        "src/perdure/store/x.py",
        '''"""Select a memory; delete from memory."""
FIND = "SELECT id FROM spaces"
PART = "AND m.id = %(id)s"
HINT = "Update the server."
def f(tx):
    """SELECT id FROM spaces"""
    raise ValueError("Update the server, or set the URL.", "select a space", "begin", "with care")
    return sql.SQL(FIND), sql.SQL(PART), sql.SQL(", ").join(x), sql.SQL(" AND ")
''',
    )
    assert check_sql([module], []) == []


def test_the_message_names_the_line_inside_the_statement() -> None:
    source = Source("s.py", 'A = 1\nFIND = """\n    SELECT 1\n    FROM memories m\n"""\n')
    (violation,) = check_sql([source], [MIGRATION])
    assert violation.line == 4
    assert "fix by `m.space_id = %(space_id)s`" in violation.message
