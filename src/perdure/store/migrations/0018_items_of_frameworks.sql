-- What agent frameworks keep of their own: items under a namespace and a key, and the messages of their sessions.

CREATE TABLE store_items (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    audience text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value jsonb NOT NULL,
    passages text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    ttl_minutes double precision,
    expires_at timestamptz,
    CONSTRAINT store_items_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT store_items_key UNIQUE (space_id, audience, namespace, key),
    CONSTRAINT store_items_ttl CHECK ((ttl_minutes IS NULL) = (expires_at IS NULL))
) WITH (fillfactor = 80);

COMMENT ON COLUMN store_items.audience IS 'whose it is, and nobody else''s; empty for the whole space';
COMMENT ON COLUMN store_items.namespace IS 'labels joined by dots; no label holds one';
COMMENT ON COLUMN store_items.passages IS 'the words that it is found by';
COMMENT ON COLUMN store_items.expires_at IS 'from then on it is not there any more; reading it may put that off';

CREATE INDEX store_items_expiring ON store_items (space_id, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE store_item_vectors (
    space_id bigint NOT NULL,
    family_id bigint NOT NULL,
    item_id bigint NOT NULL,
    position integer NOT NULL,
    embedding halfvec NOT NULL,
    CONSTRAINT store_item_vectors_pkey PRIMARY KEY (space_id, item_id, family_id, position),
    CONSTRAINT store_item_vectors_item_fkey FOREIGN KEY (space_id, item_id)
        REFERENCES store_items (space_id, id) ON DELETE CASCADE,
    CONSTRAINT store_item_vectors_normalised CHECK (l2_norm(embedding) BETWEEN 0.98 AND 1.02)
);

COMMENT ON COLUMN store_item_vectors.position IS 'of the passage in its item, from 0';

CREATE TABLE session_items (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    audience text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    item text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT session_items_pkey PRIMARY KEY (space_id, id)
);

COMMENT ON COLUMN session_items.item IS 'JSON as it was written: models are sent what they were sent before, to the byte, NUL included';

CREATE INDEX session_items_session ON session_items (space_id, audience, session_id, created_at, id);

GRANT SELECT, INSERT, UPDATE, DELETE ON store_items, store_item_vectors, session_items TO perdure_app;
GRANT USAGE ON SEQUENCE store_items_id_seq, session_items_id_seq TO perdure_app;

ALTER TABLE store_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE store_item_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_items ENABLE ROW LEVEL SECURITY;

CREATE POLICY store_items_space ON store_items TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY store_item_vectors_space ON store_item_vectors TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY session_items_space ON session_items TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
