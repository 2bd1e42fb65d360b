-- What was forgotten stays forgotten, and what is in is known by audience and by what it said.

-- Traces of erased texts: digests, no words. ------------------------------------------------------------------------

CREATE TABLE forgotten_texts (
    space_id bigint NOT NULL,
    digest bytea NOT NULL,
    forgotten_at timestamptz NOT NULL,
    CONSTRAINT forgotten_texts_pkey PRIMARY KEY (space_id, digest)
);

COMMENT ON TABLE forgotten_texts IS
    'of what was erased, and of what it rested on: a digest, by which an older telling of it is known';

GRANT SELECT, INSERT, UPDATE, DELETE ON forgotten_texts TO perdure_app;
ALTER TABLE forgotten_texts ENABLE ROW LEVEL SECURITY;
CREATE POLICY forgotten_texts_space ON forgotten_texts TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);

-- Old news: the same words as those of a tombstone.
CREATE INDEX memory_state_replaced ON memory_state (space_id, content_hash)
    WHERE superseded_at IS NOT NULL AND content_hash IS NOT NULL;

-- What is in: for one audience ('' is the whole space), with the contents seen under an id. --------------------------

ALTER TABLE processed_items ADD COLUMN audience text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE processed_items ADD COLUMN contents bytea[] NOT NULL DEFAULT '{}';
ALTER TABLE processed_items DROP CONSTRAINT processed_items_pkey;
ALTER TABLE processed_items
    ADD CONSTRAINT processed_items_pkey PRIMARY KEY (space_id, audience, source, external_id);

COMMENT ON COLUMN processed_items.contents IS 'digests of what came in under this id; none: whatever it says is in';

-- A mail is the same wherever it is read.
INSERT INTO processed_items (space_id, audience, source, external_id, processed_at)
    SELECT p.space_id, p.audience, 'email', p.external_id, min(p.processed_at)
    FROM processed_items p
    WHERE p.source LIKE 'email:%'
    GROUP BY p.space_id, p.audience, p.external_id
    ON CONFLICT (space_id, audience, source, external_id) DO NOTHING;
DELETE FROM processed_items WHERE source LIKE 'email:%';

ALTER TABLE source_checkpoints ADD COLUMN audience text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE source_checkpoints DROP CONSTRAINT source_checkpoints_pkey;
ALTER TABLE source_checkpoints ADD CONSTRAINT source_checkpoints_pkey PRIMARY KEY (space_id, audience, source);

-- Work that came in while a model was configured waits for one, for a while. ----------------------------------------

ALTER TABLE pending_triage ADD COLUMN for_model boolean NOT NULL DEFAULT false;
ALTER TABLE pending_distillation ADD COLUMN for_model boolean NOT NULL DEFAULT false;
ALTER TABLE pending_followups ADD COLUMN for_model boolean NOT NULL DEFAULT true;
