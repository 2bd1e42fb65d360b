-- What cosines mean in a space, measured on its own memories; and the sample turns of the relevance gate, embedded once.

CREATE TABLE space_calibrations (
    space_id bigint NOT NULL,
    family_id bigint NOT NULL,
    memories bigint NOT NULL,
    measured_at timestamptz NOT NULL,
    document_mean double precision NOT NULL,
    document_spread double precision NOT NULL,
    query_mean double precision NOT NULL,
    query_spread double precision NOT NULL,
    query_identical double precision NOT NULL,
    CONSTRAINT space_calibrations_pkey PRIMARY KEY (space_id, family_id)
);

COMMENT ON COLUMN space_calibrations.memories IS 'how many there were: twice as many are measured again';

GRANT SELECT, INSERT, UPDATE, DELETE ON space_calibrations TO perdure_app;

ALTER TABLE space_calibrations ENABLE ROW LEVEL SECURITY;

CREATE POLICY space_calibrations_space ON space_calibrations TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);

ALTER TABLE families ADD COLUMN sample_turns bytea;
ALTER TABLE families ADD COLUMN sample_turns_digest text;

COMMENT ON COLUMN families.sample_turns IS 'half-precision vectors of the turns that the relevance gate compares with';
COMMENT ON COLUMN families.sample_turns_digest IS 'which turns those are';

GRANT UPDATE (sample_turns, sample_turns_digest) ON families TO perdure_app;
