-- The heartbeat: which workers there are, and what each of them did at its last beat. Global: a worker serves all spaces.

CREATE TABLE workers (
    name text COLLATE "C" NOT NULL CONSTRAINT workers_pkey PRIMARY KEY,
    host text NOT NULL,
    process bigint NOT NULL,
    started_at timestamptz NOT NULL,
    beat_at timestamptz,
    seen_at timestamptz NOT NULL,
    doing text NOT NULL,
    drained bigint NOT NULL DEFAULT 0,
    kept_up bigint NOT NULL DEFAULT 0,
    concluded bigint NOT NULL DEFAULT 0,
    trouble text
);

COMMENT ON COLUMN workers.beat_at IS 'when the last whole heartbeat ended';
COMMENT ON COLUMN workers.seen_at IS 'when the worker last said so itself: one that was killed falls silent';
COMMENT ON COLUMN workers.trouble IS 'what the last beat met with, without a word of any memory';

GRANT SELECT, INSERT, UPDATE, DELETE ON workers TO perdure_worker;
