-- Words in: two more queues, what language models were asked, how far each source was read, and what a memory learns
-- about itself after it was stored.

-- Queues. A row is due once its pause and its lease are over; what holds up later rows of its conversation is found by
-- the same index. ------------------------------------------------------------------------------------------------

ALTER TABLE pending_triage ADD COLUMN kind text NOT NULL DEFAULT 'conversation';
ALTER TABLE pending_triage
    ADD COLUMN due_at timestamptz GENERATED ALWAYS AS (greatest(not_before, lease_until)) STORED;

CREATE INDEX pending_triage_due ON pending_triage (space_id, due_at);

COMMENT ON COLUMN pending_triage.kind IS 'which route the words came by';

CREATE TABLE pending_distillation (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    kind text NOT NULL,
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
    due_at timestamptz GENERATED ALWAYS AS (greatest(not_before, lease_until)) STORED,
    CONSTRAINT pending_distillation_pkey PRIMARY KEY (space_id, id)
) WITH (fillfactor = 70);

CREATE INDEX pending_distillation_conversation ON pending_distillation (space_id, conversation_id, id);
CREATE INDEX pending_distillation_due ON pending_distillation (space_id, due_at);

CREATE TABLE pending_followups (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    kind text NOT NULL,
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
    due_at timestamptz GENERATED ALWAYS AS (greatest(not_before, lease_until)) STORED,
    CONSTRAINT pending_followups_pkey PRIMARY KEY (space_id, id)
) WITH (fillfactor = 70);

CREATE INDEX pending_followups_conversation ON pending_followups (space_id, conversation_id, id);
CREATE INDEX pending_followups_due ON pending_followups (space_id, due_at);

COMMENT ON TABLE pending_followups IS 'what is still to be asked about memories that are stored: payload.ids names them';

-- What models were asked, per day of UTC: what a daily budget counts. ---------------------------------------------

CREATE TABLE model_usage (
    space_id bigint NOT NULL,
    day date NOT NULL,
    call_site text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    live boolean NOT NULL DEFAULT false,
    calls bigint NOT NULL,
    failures bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    latency_ms double precision NOT NULL,
    CONSTRAINT model_usage_pkey PRIMARY KEY (space_id, day, call_site, role, model, live)
) WITH (fillfactor = 70);

COMMENT ON COLUMN model_usage.live IS 'a turn waited for it; a budget counts only what ran in the background';
COMMENT ON COLUMN model_usage.calls IS 'failed ones included';
COMMENT ON COLUMN model_usage.latency_ms IS 'the sum over all calls';

-- How far a source was read: what only the source understands. ----------------------------------------------------

CREATE TABLE source_checkpoints (
    space_id bigint NOT NULL,
    source text COLLATE "C" NOT NULL,
    checkpoint jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT source_checkpoints_pkey PRIMARY KEY (space_id, source)
);

-- Memories. -------------------------------------------------------------------------------------------------------

ALTER TABLE memories ADD COLUMN conflicts_with bigint[] NOT NULL DEFAULT '{}';
ALTER TABLE memory_state ADD COLUMN quality_at timestamptz;

-- Erasure asks who names an erased row, and hardly any row names one.
CREATE INDEX memories_conflicts ON memories (space_id, id) WHERE conflicts_with <> '{}';

COMMENT ON COLUMN memories.conflicts_with IS 'memories that say otherwise, of which neither could supersede the other';
COMMENT ON COLUMN memory_state.quality_at IS 'when quality was scored: once per memory';

-- A newer revision of a mail or an event finds what the earlier one left.
CREATE INDEX memory_evidence_external ON memory_evidence (space_id, external_id, kind) WHERE external_id IS NOT NULL;

-- Roles and row-level security. -----------------------------------------------------------------------------------

GRANT SELECT, INSERT, UPDATE, DELETE ON pending_distillation, pending_followups, model_usage, source_checkpoints
    TO perdure_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO perdure_app;

GRANT SELECT (due_at) ON pending_triage TO perdure_worker;
GRANT SELECT (space_id, enqueued_at, not_before, lease_until, due_at) ON pending_distillation TO perdure_worker;
GRANT SELECT (space_id, enqueued_at, not_before, lease_until, due_at) ON pending_followups TO perdure_worker;

ALTER TABLE pending_distillation ENABLE ROW LEVEL SECURITY;
ALTER TABLE pending_followups ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE source_checkpoints ENABLE ROW LEVEL SECURITY;

CREATE POLICY pending_distillation_space ON pending_distillation TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY pending_followups_space ON pending_followups TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY model_usage_space ON model_usage TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY source_checkpoints_space ON source_checkpoints TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);

CREATE POLICY pending_distillation_find_work ON pending_distillation FOR SELECT TO perdure_worker USING (true);
CREATE POLICY pending_followups_find_work ON pending_followups FOR SELECT TO perdure_worker USING (true);
