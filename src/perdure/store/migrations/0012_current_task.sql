-- The task at hand, one for each audience of a space: at each heartbeat it is recalled for.

CREATE TABLE current_tasks (
    space_id bigint NOT NULL,
    audience text COLLATE "C" NOT NULL,
    task text NOT NULL,
    set_at timestamptz NOT NULL,
    recalled_at timestamptz,
    memory_ids bigint[] NOT NULL DEFAULT '{}',
    CONSTRAINT current_tasks_pkey PRIMARY KEY (space_id, audience)
) WITH (fillfactor = 70);

COMMENT ON COLUMN current_tasks.audience IS 'who may see it; empty for the whole space';
COMMENT ON COLUMN current_tasks.memory_ids IS 'what came to mind at recalled_at, best first';

GRANT SELECT, INSERT, UPDATE, DELETE ON current_tasks TO perdure_app;
GRANT SELECT (space_id, recalled_at) ON current_tasks TO perdure_worker;

ALTER TABLE current_tasks ENABLE ROW LEVEL SECURITY;

CREATE POLICY current_tasks_space ON current_tasks TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);

CREATE POLICY current_tasks_find_work ON current_tasks FOR SELECT TO perdure_worker USING (true);
