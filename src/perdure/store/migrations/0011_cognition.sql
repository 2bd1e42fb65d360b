-- Cognition: when a space was last thought about, what each run read and wrote, and what it concluded of the user.

CREATE TABLE cognition_state (
    space_id bigint NOT NULL,
    lease_holder text,
    lease_until timestamptz,
    last_run_at timestamptz,
    seen bigint NOT NULL DEFAULT 0,
    reflected bigint NOT NULL DEFAULT 0,
    consolidated bigint NOT NULL DEFAULT 0,
    CONSTRAINT cognition_state_pkey PRIMARY KEY (space_id)
) WITH (fillfactor = 70);

COMMENT ON COLUMN cognition_state.seen IS 'the last memory that was there when the last run began';
COMMENT ON COLUMN cognition_state.reflected IS 'the same of the last reflection';
COMMENT ON COLUMN cognition_state.consolidated IS 'the same of the last consolidation';

CREATE TABLE cognition_runs (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    layer text COLLATE "C" NOT NULL,
    trigger text COLLATE "C" NOT NULL,
    audience text,
    began_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    status text COLLATE "C" NOT NULL,
    told text NOT NULL DEFAULT '',
    made_by text,
    read_ids bigint[] NOT NULL DEFAULT '{}',
    wrote_ids bigint[] NOT NULL DEFAULT '{}',
    superseded_ids bigint[] NOT NULL DEFAULT '{}',
    undone_at timestamptz,
    CONSTRAINT cognition_runs_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT cognition_runs_layer CHECK (layer IN ('reflection', 'episodes', 'consolidation', 'transition')),
    CONSTRAINT cognition_runs_trigger CHECK (trigger IN ('asked', 'volume', 'ceiling', 'start', 'shift')),
    CONSTRAINT cognition_runs_status CHECK (status IN ('done', 'nothing', 'failed'))
);

COMMENT ON COLUMN cognition_runs.audience IS 'who may see what it was made of; null: the whole space';
COMMENT ON COLUMN cognition_runs.told IS 'what it came to in a sentence, without a word of any memory; of a failure why';
COMMENT ON COLUMN cognition_runs.superseded_ids IS 'what it put something else in the place of, and undoing brings back';

-- What a layer has used at its present content is not used again. -------------------------------------------------

CREATE TABLE cognition_marks (
    space_id bigint NOT NULL,
    layer text COLLATE "C" NOT NULL,
    memory_id bigint NOT NULL,
    mark text COLLATE "C" NOT NULL,
    run_id bigint NOT NULL,
    CONSTRAINT cognition_marks_pkey PRIMARY KEY (space_id, layer, memory_id),
    CONSTRAINT cognition_marks_memory_fkey FOREIGN KEY (space_id, memory_id)
        REFERENCES memories (space_id, id) ON DELETE CASCADE
);

COMMENT ON COLUMN cognition_marks.mark IS
    'consolidation: of the words that were used; episodes: of all members of the cluster';

CREATE TABLE traits (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    category text COLLATE "C" NOT NULL,
    key text NOT NULL,
    folded_key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    evidence_ids bigint[] NOT NULL,
    run_id bigint NOT NULL,
    began_at timestamptz NOT NULL,
    ended_at timestamptz,
    ended_by bigint,
    CONSTRAINT traits_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT traits_category CHECK (category IN ('interest', 'hobby', 'goal', 'worldview', 'style', 'preference'))
);

CREATE UNIQUE INDEX traits_live ON traits (space_id, category, folded_key) WHERE ended_at IS NULL;

COMMENT ON COLUMN traits.ended_by IS 'the run that changed or removed it, and whose undoing brings it back';

-- One live identity per space. An embedder of early days could be told to keep several: the newest stays.
WITH newest AS (
    SELECT s.space_id, max(s.memory_id) AS memory_id FROM memory_state s
    WHERE s.memory_type = 'identity' AND s.superseded_at IS NULL GROUP BY s.space_id
)
UPDATE memory_state m SET memory_type = 'fact'
FROM newest n
WHERE m.space_id = n.space_id AND m.memory_id <> n.memory_id AND m.memory_type = 'identity'
  AND m.superseded_at IS NULL;

CREATE UNIQUE INDEX memory_state_identity ON memory_state (space_id)
    WHERE memory_type = 'identity' AND superseded_at IS NULL;

-- Roles and row-level security. The worker sees which spaces have news, and no word of them. ----------------------

GRANT SELECT, INSERT, UPDATE, DELETE ON cognition_state, cognition_runs, cognition_marks, traits TO perdure_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO perdure_app;
GRANT SELECT (space_id, lease_until, last_run_at, seen) ON cognition_state TO perdure_worker;
GRANT SELECT (space_id, memory_id, memory_type, superseded_at, created_at) ON memory_state TO perdure_worker;

ALTER TABLE cognition_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE cognition_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE cognition_marks ENABLE ROW LEVEL SECURITY;
ALTER TABLE traits ENABLE ROW LEVEL SECURITY;

CREATE POLICY cognition_state_space ON cognition_state TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY cognition_runs_space ON cognition_runs TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY cognition_marks_space ON cognition_marks TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY traits_space ON traits TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);

CREATE POLICY cognition_state_find_work ON cognition_state FOR SELECT TO perdure_worker USING (true);
CREATE POLICY memory_state_find_news ON memory_state FOR SELECT TO perdure_worker USING (true);
