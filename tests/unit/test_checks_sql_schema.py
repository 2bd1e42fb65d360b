"""What the SQL checks promise about tables, keys, indexes and policies."""

from __future__ import annotations

import pytest

from checks.sources import Source
from checks.sql import check_sql

RLS = """
    ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
    CREATE POLICY notes_space ON notes USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
"""
NOTES = "CREATE TABLE notes (space_id bigint NOT NULL, id bigserial, CONSTRAINT notes_pkey PRIMARY KEY (space_id, id));"


def rules_broken(migration: str) -> list[str]:
    source = Source("src/perdure/store/migrations/0001_x.sql", migration)
    return [violation.rule for violation in check_sql([], [source])]


def test_a_table_in_the_projects_shape_passes() -> None:
    assert rules_broken(NOTES + RLS) == []


@pytest.mark.parametrize(
    ("rule", "migration"),
    [
        ("rule 1", "CREATE TABLE notes (id bigserial, CONSTRAINT notes_pkey PRIMARY KEY (id))"),
        ("rule 1", "CREATE TABLE notes (id bigserial, space_id bigint NOT NULL);" + RLS),
        ("rule 1", "CREATE TABLE notes (space_id text NOT NULL, id bigserial);" + RLS),
        ("rule 1", "CREATE TABLE notes (space_id bigint, id bigserial);" + RLS),
        (
            "rule 1",
            "CREATE TABLE notes (space_id bigint NOT NULL, id bigserial, CONSTRAINT k PRIMARY KEY (id, space_id));"
            + RLS,
        ),
        ("rule 1", "CREATE TABLE notes (space_id bigint NOT NULL, h bytea CONSTRAINT notes_h UNIQUE);" + RLS),
        ("rule 1", NOTES + RLS + "CREATE INDEX notes_id ON notes (id);"),
        ("rule 1", NOTES + RLS + "CREATE UNIQUE INDEX notes_id ON notes (id);"),
        ("rule 2", "CREATE TABLE notes (space_id bigint NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY);" + RLS),
        ("rule 2", "CREATE TABLE notes (space_id bigint NOT NULL, id serial);" + RLS),
        ("rule 2", "CREATE TABLE notes (space_id bigint NOT NULL, memory_id integer);" + RLS),
        (
            "rule 4",
            NOTES
            + RLS
            + "ALTER TABLE notes ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES notes (id) ON DELETE CASCADE;",
        ),
        (
            "rule 4",
            NOTES + RLS + "ALTER TABLE notes ADD CONSTRAINT f FOREIGN KEY (space_id, id) "
            "REFERENCES notes (space_id, id) ON DELETE SET NULL;",
        ),
        ("rule 4", NOTES + RLS + "ALTER TABLE notes ADD CONSTRAINT f FOREIGN KEY (space_id) REFERENCES spaces (id);"),
        ("rule 5", "CREATE TRIGGER t AFTER INSERT ON notes EXECUTE FUNCTION f()"),
        ("rule 5", "CREATE RULE r AS ON INSERT TO notes DO NOTHING"),
        ("rule 5", "DO $$ BEGIN END $$"),
        ("rule 5", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'"),
        ("rule 5", NOTES + RLS + "CREATE POLICY p ON notes USING (space_id IN (SELECT id FROM spaces));"),
        ("rule 6", "CREATE TABLE notes (space_id bigint NOT NULL, id bigserial, PRIMARY KEY (space_id, id));" + RLS),
        ("rule 6", "CREATE TABLE notes (space_id bigint NOT NULL, n int CHECK (n > 0));" + RLS),
        ("rule 6", NOTES + RLS + "ALTER TABLE notes ADD COLUMN n int CONSTRAINT notes_n CHECK (n > 0);"),
        ("rule 6", NOTES + RLS + "ALTER TABLE notes SET (fillfactor = 70);"),
        ("rule b", NOTES + RLS.replace("ENABLE", "DISABLE")),
        ("rule b", NOTES + "ALTER TABLE notes ENABLE ROW LEVEL SECURITY;"),
        ("rule b", NOTES + "ALTER TABLE notes ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON notes USING (true);"),
        ("rule g", "CREATE TABLE spaces (id bigserial, created_at timestamptz NOT NULL DEFAULT now())"),
        ("unparsable", "CREATE TABEL notes (id int)"),
    ],
)
def test_a_migration_that_breaks_a_rule_is_reported_under_it(rule: str, migration: str) -> None:
    assert rules_broken(migration) == [rule]


@pytest.mark.parametrize(
    "migration",
    [
        "CREATE TABLE spaces (id bigserial CONSTRAINT spaces_pkey PRIMARY KEY, name text NOT NULL)",
        NOTES + RLS + "CREATE INDEX notes_tags ON notes USING gin (tags);",
        NOTES + RLS + "CREATE INDEX notes_when ON notes (space_id, id);",
        NOTES + RLS + "CREATE UNIQUE INDEX notes_live ON notes (space_id, id) WHERE id > 3;",
        NOTES + RLS + "ALTER TABLE notes ADD COLUMN n int; ALTER TABLE notes ADD CONSTRAINT notes_n CHECK (n > 0);",
        NOTES + RLS + "ALTER TABLE notes ADD CONSTRAINT f FOREIGN KEY (space_id, id) "
        "REFERENCES notes (space_id, id) ON DELETE CASCADE;",
        NOTES + RLS + "CREATE POLICY find_work ON notes FOR SELECT TO worker USING (true);",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'",
        NOTES + "DROP TABLE notes;",
    ],
)
def test_a_migration_within_the_rules_passes(migration: str) -> None:
    assert rules_broken(migration) == []


def test_a_lasting_table_made_in_code_is_reported() -> None:
    module = Source("src/perdure/store/x.py", f"MAKE = {NOTES!r}\n")
    assert "rule 6" in [violation.rule for violation in check_sql([module], [])]


def test_the_message_names_the_line_in_the_migration() -> None:
    source = Source("m.sql", NOTES + RLS + "\n-- a comment; with a semicolon\nCREATE INDEX i\n  ON notes (id);\n")
    (violation,) = check_sql([], [source])
    assert violation.line == 1 + source.text[: source.text.index("notes (id)")].count("\n")
    assert str(violation).startswith(f"m.sql:{violation.line}: rule 1: index i ")
