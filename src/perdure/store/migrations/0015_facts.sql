-- Facts that an assistant teaches itself: of a server and of a person, each for one persona's lineage or for all (0).

CREATE SEQUENCE persona_lineage_id_seq START 10000 MINVALUE 10000;

CREATE TABLE personas (
    space_id bigint NOT NULL,
    persona_lineage_id bigint NOT NULL DEFAULT nextval('persona_lineage_id_seq'),
    name text NOT NULL,
    folded_name text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT personas_pkey PRIMARY KEY (space_id, persona_lineage_id),
    CONSTRAINT personas_name UNIQUE (space_id, folded_name),
    CONSTRAINT personas_lineage CHECK (persona_lineage_id >= 10000)
);

COMMENT ON COLUMN personas.persona_lineage_id IS 'identity across servers; 0 is reserved for what every persona knows';

CREATE TABLE servers (
    space_id bigint NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    self_teaching_enabled boolean NOT NULL DEFAULT true,
    updated_at timestamptz NOT NULL,
    CONSTRAINT servers_pkey PRIMARY KEY (space_id, server_id)
);

CREATE TABLE people (
    space_id bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    name text,
    aliases text[] NOT NULL DEFAULT '{}',
    privacy_level text COLLATE "C" NOT NULL DEFAULT 'minimal',
    consents boolean NOT NULL DEFAULT true,
    updated_at timestamptz NOT NULL,
    CONSTRAINT people_pkey PRIMARY KEY (space_id, user_id),
    CONSTRAINT people_privacy_level CHECK (privacy_level IN ('minimal', 'partial', 'full'))
);

COMMENT ON COLUMN people.privacy_level IS 'minimal: an assistant may learn by itself; partial: only by hand; full: not at all';

CREATE TABLE server_people (
    space_id bigint NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    personalised boolean NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT server_people_pkey PRIMARY KEY (space_id, server_id, user_id)
);

COMMENT ON COLUMN server_people.personalised IS 'whether what is known of this person is used in this server';

CREATE TABLE server_memories (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    persona_lineage_id bigint NOT NULL,
    content text NOT NULL,
    content_key bytea NOT NULL,
    tags text[] NOT NULL DEFAULT '{}',
    channel_ids text[] NOT NULL DEFAULT '{}',
    taught_by text,
    evidence jsonb NOT NULL DEFAULT '{}',
    pinned boolean NOT NULL DEFAULT false,
    revision integer NOT NULL DEFAULT 1,
    decay_days integer NOT NULL DEFAULT 0,
    last_counted_day date,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT server_memories_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT server_memories_once UNIQUE (space_id, server_id, persona_lineage_id, content_key),
    CONSTRAINT server_memories_lineage CHECK (persona_lineage_id = 0 OR persona_lineage_id >= 10000),
    CONSTRAINT server_memories_content CHECK (char_length(content) BETWEEN 1 AND 1000),
    CONSTRAINT server_memories_tags CHECK (cardinality(tags) <= 5),
    CONSTRAINT server_memories_decay_days CHECK (decay_days >= 0)
) WITH (fillfactor = 80);

CREATE TABLE server_memory_vectors (
    space_id bigint NOT NULL,
    family_id bigint NOT NULL,
    memory_id bigint NOT NULL,
    embedding halfvec NOT NULL,
    CONSTRAINT server_memory_vectors_pkey PRIMARY KEY (space_id, memory_id, family_id),
    CONSTRAINT server_memory_vectors_memory_fkey FOREIGN KEY (space_id, memory_id)
        REFERENCES server_memories (space_id, id) ON DELETE CASCADE,
    CONSTRAINT server_memory_vectors_normalised CHECK (l2_norm(embedding) BETWEEN 0.98 AND 1.02)
);

CREATE TABLE personal_memories (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    persona_lineage_id bigint NOT NULL,
    content text NOT NULL,
    content_key bytea NOT NULL,
    tags text[] NOT NULL DEFAULT '{}',
    channel_ids text[] NOT NULL DEFAULT '{}',
    taught_by text,
    evidence jsonb NOT NULL DEFAULT '{}',
    pinned boolean NOT NULL DEFAULT false,
    revision integer NOT NULL DEFAULT 1,
    decay_days integer NOT NULL DEFAULT 0,
    last_counted_day date,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT personal_memories_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT personal_memories_once UNIQUE (space_id, user_id, persona_lineage_id, content_key),
    CONSTRAINT personal_memories_lineage CHECK (persona_lineage_id = 0 OR persona_lineage_id >= 10000),
    CONSTRAINT personal_memories_content CHECK (char_length(content) BETWEEN 1 AND 1000),
    CONSTRAINT personal_memories_tags CHECK (cardinality(tags) <= 5),
    CONSTRAINT personal_memories_decay_days CHECK (decay_days >= 0)
) WITH (fillfactor = 80);

CREATE TABLE personal_memory_vectors (
    space_id bigint NOT NULL,
    family_id bigint NOT NULL,
    memory_id bigint NOT NULL,
    embedding halfvec NOT NULL,
    CONSTRAINT personal_memory_vectors_pkey PRIMARY KEY (space_id, memory_id, family_id),
    CONSTRAINT personal_memory_vectors_memory_fkey FOREIGN KEY (space_id, memory_id)
        REFERENCES personal_memories (space_id, id) ON DELETE CASCADE,
    CONSTRAINT personal_memory_vectors_normalised CHECK (l2_norm(embedding) BETWEEN 0.98 AND 1.02)
);

COMMENT ON COLUMN server_memories.content_key IS 'digest of the folded content: the same fact twice in one scope is one';
COMMENT ON COLUMN server_memories.decay_days IS 'days (UTC) on which it was scored and did not win since it last did';
COMMENT ON COLUMN server_memories.last_counted_day IS 'the day (UTC) that last counted, by losing or by winning';
COMMENT ON COLUMN personal_memories.content_key IS 'digest of the folded content: the same fact twice in one scope is one';
COMMENT ON COLUMN personal_memories.decay_days IS 'days (UTC) on which it was scored and did not win since it last did';
COMMENT ON COLUMN personal_memories.last_counted_day IS 'the day (UTC) that last counted, by losing or by winning';

-- One row per scope: what its writers queue up on, and what tells rendered text from stale text. -------------------

CREATE TABLE fact_scopes (
    space_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    persona_lineage_id bigint NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    CONSTRAINT fact_scopes_pkey PRIMARY KEY (space_id, kind, owner, persona_lineage_id),
    CONSTRAINT fact_scopes_kind CHECK (kind IN ('server', 'personal'))
) WITH (fillfactor = 50);

COMMENT ON COLUMN fact_scopes.revision IS 'goes up with every change of what the scope holds, except by accounting';

-- What facts were, and what is gone and can come back. -------------------------------------------------------------

CREATE TABLE fact_history (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    kind text COLLATE "C" NOT NULL,
    memory_id bigint NOT NULL,
    action text COLLATE "C" NOT NULL,
    changed_at timestamptz NOT NULL,
    changed_by text NOT NULL,
    revision integer NOT NULL,
    content text NOT NULL,
    state jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT fact_history_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT fact_history_kind CHECK (kind IN ('server', 'personal'))
);

COMMENT ON COLUMN fact_history.content IS 'what the fact said before the change';

CREATE INDEX fact_history_of ON fact_history (space_id, kind, memory_id);

CREATE TABLE fact_archive (
    space_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    memory_id bigint NOT NULL,
    owner text COLLATE "C" NOT NULL,
    persona_lineage_id bigint NOT NULL,
    content text NOT NULL,
    content_key bytea NOT NULL,
    tags text[] NOT NULL,
    channel_ids text[] NOT NULL,
    taught_by text,
    evidence jsonb NOT NULL,
    pinned boolean NOT NULL,
    revision integer NOT NULL,
    decay_days integer NOT NULL,
    created_at timestamptz NOT NULL,
    archived_at timestamptz NOT NULL,
    archived_by text NOT NULL,
    reason text COLLATE "C" NOT NULL,
    replaced_by bigint,
    CONSTRAINT fact_archive_pkey PRIMARY KEY (space_id, kind, memory_id),
    CONSTRAINT fact_archive_kind CHECK (kind IN ('server', 'personal')),
    CONSTRAINT fact_archive_reason CHECK (reason IN ('replaced', 'deleted'))
);

COMMENT ON COLUMN fact_archive.replaced_by IS 'the fact that took its room in a full scope; it comes back under its own id';

-- Content-free samples of what a turn did. -------------------------------------------------------------------------

CREATE TABLE metric_samples (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    metric text COLLATE "C" NOT NULL,
    sampled_at timestamptz NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    numbers jsonb NOT NULL,
    CONSTRAINT metric_samples_pkey PRIMARY KEY (space_id, id)
);

COMMENT ON TABLE metric_samples IS 'never content, names, ids, keys, names of models or vectors; kept for 30 days';

CREATE INDEX metric_samples_time ON metric_samples (space_id, metric, sampled_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    personas,
    servers,
    people,
    server_people,
    server_memories,
    server_memory_vectors,
    personal_memories,
    personal_memory_vectors,
    fact_scopes,
    fact_history,
    fact_archive,
    metric_samples
    TO perdure_app;
GRANT USAGE ON SEQUENCE persona_lineage_id_seq, server_memories_id_seq, personal_memories_id_seq, fact_history_id_seq,
    metric_samples_id_seq TO perdure_app;

ALTER TABLE personas ENABLE ROW LEVEL SECURITY;
ALTER TABLE servers ENABLE ROW LEVEL SECURITY;
ALTER TABLE people ENABLE ROW LEVEL SECURITY;
ALTER TABLE server_people ENABLE ROW LEVEL SECURITY;
ALTER TABLE server_memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE server_memory_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE personal_memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE personal_memory_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_scopes ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_archive ENABLE ROW LEVEL SECURITY;
ALTER TABLE metric_samples ENABLE ROW LEVEL SECURITY;

CREATE POLICY personas_space ON personas TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY servers_space ON servers TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY people_space ON people TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY server_people_space ON server_people TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY server_memories_space ON server_memories TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY server_memory_vectors_space ON server_memory_vectors TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY personal_memories_space ON personal_memories TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY personal_memory_vectors_space ON personal_memory_vectors TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY fact_scopes_space ON fact_scopes TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY fact_history_space ON fact_history TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY fact_archive_space ON fact_archive TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY metric_samples_space ON metric_samples TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
