-- The first schema. Conventions: docs/sql.md. space_id comes first in every key; ids are handed out as
-- (space_id, id); every constraint has a name; row-level security separates spaces.

-- Global tables: small, outside row-level security, reference tables on a cluster. -------------------------------

CREATE TABLE spaces (
    id bigserial CONSTRAINT spaces_pkey PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    time_zone text NOT NULL DEFAULT 'UTC',
    created_at timestamptz NOT NULL,
    CONSTRAINT spaces_name_key UNIQUE (name),
    CONSTRAINT spaces_name_length CHECK (octet_length(name) BETWEEN 1 AND 200)
);

CREATE TABLE families (
    id bigserial CONSTRAINT families_pkey PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    dimensions integer NOT NULL,
    query_prefix text NOT NULL DEFAULT '',
    document_prefix text NOT NULL DEFAULT '',
    unrelated_similarity double precision NOT NULL DEFAULT 0,
    unrelated_spread double precision NOT NULL DEFAULT 0,
    index_name text,
    created_at timestamptz NOT NULL,
    CONSTRAINT families_name_key UNIQUE (name),
    CONSTRAINT families_dimensions CHECK (dimensions BETWEEN 1 AND 16000)
);

-- One row per space: the counters that choose exact or index, and the row that writers of a space queue up on. ----

CREATE TABLE space_state (
    space_id bigint NOT NULL,
    family_id bigint,
    memories bigint NOT NULL DEFAULT 0,
    terms bigint NOT NULL DEFAULT 0,
    CONSTRAINT space_state_pkey PRIMARY KEY (space_id)
) WITH (fillfactor = 50);

COMMENT ON COLUMN space_state.memories IS 'rows that have postings, superseded ones included';
COMMENT ON COLUMN space_state.terms IS 'sum of term counts over those rows; terms / memories is the average length';

-- The stream: wide rows that seldom change. -----------------------------------------------------------------------

CREATE TABLE memories (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    summary text NOT NULL,
    search_text text NOT NULL,
    summary_tsv tsvector GENERATED ALWAYS AS (to_tsvector('pg_catalog.simple'::regconfig, search_text)) STORED,
    tags text[] NOT NULL DEFAULT '{}',
    entities text[] NOT NULL DEFAULT '{}',
    source text NOT NULL,
    trust text NOT NULL,
    speaker text,
    conversation_id text,
    language text,
    metadata jsonb NOT NULL DEFAULT '{}',
    chunk_of bigint,
    chunk_no integer NOT NULL DEFAULT 0,
    related_ids bigint[] NOT NULL DEFAULT '{}',
    superseded_reason text,
    made_by text,
    CONSTRAINT memories_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT memories_summary_length CHECK (octet_length(summary) BETWEEN 1 AND 4000),
    CONSTRAINT memories_trust CHECK (trust IN ('user', 'assistant', 'tool', 'external', 'derived')),
    CONSTRAINT memories_chunk_fkey FOREIGN KEY (space_id, chunk_of) REFERENCES memories (space_id, id)
);

CREATE INDEX memories_chunk_of ON memories (space_id, chunk_of) WHERE chunk_of IS NOT NULL;
CREATE INDEX memories_tags ON memories USING gin (tags);
CREATE INDEX memories_entities ON memories USING gin (entities);
CREATE INDEX memories_summary_tsv ON memories USING gin (summary_tsv);

-- What ranking and upkeep touch, kept narrow so that an update stays on its page. ---------------------------------

CREATE TABLE memory_state (
    space_id bigint NOT NULL,
    memory_id bigint NOT NULL,
    memory_type text NOT NULL DEFAULT 'general',
    audience text,
    conversation_id text,
    speaker text,
    is_question boolean NOT NULL DEFAULT false,
    salience real NOT NULL DEFAULT 5,
    usefulness_score real NOT NULL DEFAULT 0.5,
    confidence real NOT NULL DEFAULT 1.0,
    retrieval_count integer NOT NULL DEFAULT 0,
    term_count integer NOT NULL DEFAULT 0,
    pinned boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    source_date timestamptz NOT NULL,
    last_retrieved_at timestamptz,
    boosted_on date,
    decayed_at timestamptz NOT NULL,
    regressed_at timestamptz NOT NULL,
    superseded_by bigint,
    superseded_at timestamptz,
    content_hash bytea,
    prior_band smallint GENERATED ALWAYS AS (floor(200 * (0.1 * salience + 0.15 * usefulness_score + 0.03 * confidence
        + 0.02 * ln((retrieval_count + 1)::double precision)))) STORED,
    sketch bit(256),
    signature bit(512),
    CONSTRAINT memory_state_pkey PRIMARY KEY (space_id, memory_id),
    CONSTRAINT memory_state_memory_fkey FOREIGN KEY (space_id, memory_id)
        REFERENCES memories (space_id, id) ON DELETE CASCADE,
    CONSTRAINT memory_state_superseded_fkey FOREIGN KEY (space_id, superseded_by)
        REFERENCES memories (space_id, id),
    CONSTRAINT memory_state_type CHECK (memory_type IN ('general', 'fact', 'preference', 'event', 'email', 'calendar',
        'episode', 'reflection', 'identity', 'transition')),
    CONSTRAINT memory_state_salience CHECK (salience BETWEEN 1 AND 10),
    CONSTRAINT memory_state_usefulness CHECK (usefulness_score BETWEEN 0 AND 1),
    CONSTRAINT memory_state_confidence CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT memory_state_retrieval_count CHECK (retrieval_count >= 0),
    CONSTRAINT memory_state_superseded CHECK (superseded_by IS NULL OR superseded_at IS NOT NULL)
) WITH (fillfactor = 70);

COMMENT ON COLUMN memory_state.superseded_at IS
    'null = live; superseded_by names the successor for as long as that one exists';

COMMENT ON COLUMN memory_state.speaker IS
    'who said it, folded: a name, or a role like user or assistant; tells neighbours of another speaker';
COMMENT ON COLUMN memory_state.is_question IS 'the text ends with a question mark; of chunks only the last one';
COMMENT ON COLUMN memory_state.term_count IS
    'the length of the text by which lexical scores are normalised: its words, without speaker and date';

COMMENT ON COLUMN memory_state.sketch IS 'where the vector points, to choose candidates by: see store/sketches.py';
COMMENT ON COLUMN memory_state.signature IS 'one bit per term and entity, to choose candidates by: see store/sketches.py';

-- What a memory is worth whatever the query, in steps of 0.005: steps, so that an update that hardly changes it touches
-- no index. The weights are the mission's; ranking by other weights scales the bound it looks for. The included columns
-- let one scan of the index judge thousands of rows.
CREATE INDEX memory_state_prior ON memory_state (space_id, prior_band DESC, memory_id)
    INCLUDE (memory_type, audience, sketch, signature) WHERE superseded_at IS NULL;
CREATE INDEX memory_state_private ON memory_state (space_id) WHERE superseded_at IS NULL AND audience IS NOT NULL;
CREATE INDEX memory_state_type ON memory_state (space_id, memory_type, memory_id);

COMMENT ON COLUMN memory_state.content_hash IS
    'of the whole text, in its first chunk; null in later chunks, and once one of several chunks was changed';

-- Exact duplicates: unique per space and audience among live texts.
CREATE UNIQUE INDEX memory_state_content_hash ON memory_state (space_id, content_hash, audience) NULLS NOT DISTINCT
    WHERE superseded_at IS NULL AND content_hash IS NOT NULL;
CREATE INDEX memory_state_superseded_by ON memory_state (space_id, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memory_state_conversation ON memory_state (space_id, conversation_id, source_date, memory_id);
CREATE INDEX memory_state_source_date ON memory_state (space_id, source_date);

-- Vectors, one row per memory and family; the index of a family is partial and made by the owner with the family. -

CREATE TABLE memory_vectors (
    space_id bigint NOT NULL,
    family_id bigint NOT NULL,
    memory_id bigint NOT NULL,
    embedding halfvec NOT NULL,
    CONSTRAINT memory_vectors_pkey PRIMARY KEY (space_id, family_id, memory_id),
    CONSTRAINT memory_vectors_memory_fkey FOREIGN KEY (space_id, memory_id)
        REFERENCES memories (space_id, id) ON DELETE CASCADE,
    CONSTRAINT memory_vectors_normalised CHECK (l2_norm(embedding) BETWEEN 0.98 AND 1.02)
);

-- Postings. No foreign key: a check per posting would cost more than the posting; the store removes them with their
-- memory, by the terms that the first line of search_text spells out.

CREATE TABLE memory_terms (
    space_id bigint NOT NULL,
    term text COLLATE "C" NOT NULL,
    memory_id bigint NOT NULL,
    tf smallint NOT NULL,
    length smallint NOT NULL,
    CONSTRAINT memory_terms_pkey PRIMARY KEY (space_id, term, memory_id) INCLUDE (tf, length)
);

COMMENT ON COLUMN memory_terms.length IS 'the term_count of the memory, at most 32767';

CREATE TABLE memory_entities (
    space_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    memory_id bigint NOT NULL,
    CONSTRAINT memory_entities_pkey PRIMARY KEY (space_id, key, memory_id)
);

CREATE TABLE memory_facets (
    space_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    memory_id bigint NOT NULL,
    CONSTRAINT memory_facets_pkey PRIMARY KEY (space_id, key, memory_id)
);

COMMENT ON TABLE memory_facets IS 'what filters ask for by equality: tag:…, speaker:…, source:…, type:…, meta:…';

CREATE TABLE space_counts (
    space_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    CONSTRAINT space_counts_pkey PRIMARY KEY (space_id, kind, key),
    CONSTRAINT space_counts_kind CHECK (kind IN ('term', 'entity', 'facet'))
) WITH (fillfactor = 70);

COMMENT ON TABLE space_counts IS 'how many postings each key has: document frequencies, and the size of a filter';

-- Evidence and history: why a memory is known, and what it was before. --------------------------------------------

CREATE TABLE memory_evidence (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    memory_id bigint NOT NULL,
    kind text NOT NULL,
    external_id text,
    speaker text,
    observed_at timestamptz,
    excerpt text NOT NULL DEFAULT '',
    CONSTRAINT memory_evidence_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT memory_evidence_memory_fkey FOREIGN KEY (space_id, memory_id)
        REFERENCES memories (space_id, id) ON DELETE CASCADE,
    CONSTRAINT memory_evidence_excerpt CHECK (char_length(excerpt) <= 500)
);

CREATE INDEX memory_evidence_memory ON memory_evidence (space_id, memory_id);

CREATE TABLE memory_history (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    memory_id bigint NOT NULL,
    action text NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL,
    reason text NOT NULL DEFAULT '',
    summary text NOT NULL,
    state jsonb NOT NULL,
    valid_from timestamptz NOT NULL,
    valid_to timestamptz NOT NULL,
    CONSTRAINT memory_history_pkey PRIMARY KEY (space_id, id)
);

COMMENT ON TABLE memory_history IS 'no foreign key: history outlives a purge and ends with erasure';

CREATE INDEX memory_history_memory ON memory_history (space_id, memory_id);

-- Idempotency: what a caller's operation_id did the first time, and which items of a source are in. ----------------

CREATE TABLE operations (
    space_id bigint NOT NULL,
    operation_id text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    outcome jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT operations_pkey PRIMARY KEY (space_id, operation_id)
);

CREATE TABLE processed_items (
    space_id bigint NOT NULL,
    source text COLLATE "C" NOT NULL,
    external_id text COLLATE "C" NOT NULL,
    processed_at timestamptz NOT NULL,
    CONSTRAINT processed_items_pkey PRIMARY KEY (space_id, source, external_id)
);

-- The queue, and what failed for good. ----------------------------------------------------------------------------

CREATE TABLE pending_triage (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    conversation_id text NOT NULL DEFAULT '',
    audience text,
    speaker text,
    payload jsonb NOT NULL,
    occurred_at timestamptz NOT NULL,
    enqueued_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    not_before timestamptz NOT NULL,
    lease_holder text,
    lease_until timestamptz,
    last_error text,
    CONSTRAINT pending_triage_pkey PRIMARY KEY (space_id, id)
) WITH (fillfactor = 70);

CREATE INDEX pending_triage_conversation ON pending_triage (space_id, conversation_id, id);

CREATE TABLE failed_operations (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    op_type text NOT NULL,
    label text NOT NULL,
    error text NOT NULL,
    context jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT failed_operations_pkey PRIMARY KEY (space_id, id)
);

-- Roles. The application works in one space per transaction; the worker role only finds out where work is due and
-- reads no content: the work itself is done as the application, inside the space.

GRANT SELECT, INSERT ON spaces TO perdure_app;
GRANT SELECT ON spaces TO perdure_worker;
GRANT SELECT ON families TO perdure_app, perdure_worker;

GRANT SELECT, INSERT, UPDATE, DELETE ON
    space_state, memories, memory_state, memory_vectors, memory_terms, memory_entities, memory_facets, space_counts,
    memory_evidence, memory_history, operations, processed_items, pending_triage, failed_operations
    TO perdure_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO perdure_app;

GRANT SELECT (space_id, enqueued_at, not_before, lease_until) ON pending_triage TO perdure_worker;

-- Row-level security. NULLIF: the setting is unset on a fresh connection and an empty string on a used one; either
-- way nothing is visible.

ALTER TABLE space_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_entities ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_facets ENABLE ROW LEVEL SECURITY;
ALTER TABLE space_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_evidence ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE operations ENABLE ROW LEVEL SECURITY;
ALTER TABLE processed_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE pending_triage ENABLE ROW LEVEL SECURITY;
ALTER TABLE failed_operations ENABLE ROW LEVEL SECURITY;

CREATE POLICY space_state_space ON space_state TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY memories_space ON memories TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY memory_state_space ON memory_state TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY memory_vectors_space ON memory_vectors TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY memory_terms_space ON memory_terms TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY memory_entities_space ON memory_entities TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY memory_facets_space ON memory_facets TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY space_counts_space ON space_counts TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY memory_evidence_space ON memory_evidence TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY memory_history_space ON memory_history TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY operations_space ON operations TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY processed_items_space ON processed_items TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY pending_triage_space ON pending_triage TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY failed_operations_space ON failed_operations TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);

CREATE POLICY pending_triage_find_work ON pending_triage FOR SELECT TO perdure_worker USING (true);
