-- Upkeep: who is at it in a space, and when it was last done.

CREATE TABLE upkeep_state (
    space_id bigint NOT NULL,
    lease_holder text,
    lease_until timestamptz,
    finished_at timestamptz,
    retired_at timestamptz,
    CONSTRAINT upkeep_state_pkey PRIMARY KEY (space_id)
) WITH (fillfactor = 70);

COMMENT ON COLUMN upkeep_state.finished_at IS 'when the last tick that came to its end began';
COMMENT ON COLUMN upkeep_state.retired_at IS 'when side tables were last gone through for what is past its retention';

GRANT SELECT, INSERT, UPDATE, DELETE ON upkeep_state TO perdure_app;
GRANT SELECT (space_id, lease_until, finished_at) ON upkeep_state TO perdure_worker;

ALTER TABLE upkeep_state ENABLE ROW LEVEL SECURITY;

CREATE POLICY upkeep_state_space ON upkeep_state TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);

CREATE POLICY upkeep_state_find_work ON upkeep_state FOR SELECT TO perdure_worker USING (true);
