-- Documents beside memories: each in overlapping passages, for a server or the whole space, a lineage or all of them.

CREATE TABLE documents (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    server_id text COLLATE "C" NOT NULL,
    persona_lineage_id bigint NOT NULL,
    audience text COLLATE "C" NOT NULL,
    channel_ids text[] NOT NULL DEFAULT '{}',
    name text COLLATE "C" NOT NULL,
    media_type text COLLATE "C" NOT NULL,
    bytes bigint NOT NULL,
    content_hash bytea NOT NULL,
    parts integer NOT NULL,
    uploaded_by text,
    state text COLLATE "C" NOT NULL,
    revision integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT documents_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT documents_lineage CHECK (persona_lineage_id = 0 OR persona_lineage_id >= 10000),
    CONSTRAINT documents_state CHECK (state IN ('arriving', 'complete'))
) WITH (fillfactor = 80);

COMMENT ON COLUMN documents.server_id IS 'empty for the whole space';
COMMENT ON COLUMN documents.persona_lineage_id IS '0 is every lineage';
COMMENT ON COLUMN documents.audience IS 'who may see it; empty for the whole space';
COMMENT ON COLUMN documents.channel_ids IS 'where it may be shown; none is everywhere';
COMMENT ON COLUMN documents.content_hash IS 'digest of its passages: of what is kept, without secrets';
COMMENT ON COLUMN documents.state IS 'arriving: some of it has no vector yet, and none of it is found';

-- One document of a name in a scope is found; versions of it that are still arriving stand beside it.
CREATE UNIQUE INDEX documents_name ON documents (space_id, server_id, persona_lineage_id, audience, name)
    WHERE state = 'complete';
CREATE UNIQUE INDEX documents_arriving
    ON documents (space_id, server_id, persona_lineage_id, audience, name, content_hash)
    WHERE state = 'arriving';

CREATE TABLE document_chunks (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    document_id bigint NOT NULL,
    position integer NOT NULL,
    content text NOT NULL,
    starts integer NOT NULL,
    ends integer NOT NULL,
    page integer,
    CONSTRAINT document_chunks_pkey PRIMARY KEY (space_id, id),
    CONSTRAINT document_chunks_position UNIQUE (space_id, document_id, position),
    CONSTRAINT document_chunks_document_fkey FOREIGN KEY (space_id, document_id)
        REFERENCES documents (space_id, id) ON DELETE CASCADE,
    CONSTRAINT document_chunks_content CHECK (char_length(content) BETWEEN 1 AND 1000)
);

COMMENT ON TABLE document_chunks IS 'their words never change, so that no vector can be of other words';
COMMENT ON COLUMN document_chunks.starts IS 'where it begins and ends in the text, in characters';

CREATE TABLE document_vectors (
    space_id bigint NOT NULL,
    family_id bigint NOT NULL,
    chunk_id bigint NOT NULL,
    embedding halfvec NOT NULL,
    CONSTRAINT document_vectors_pkey PRIMARY KEY (space_id, chunk_id, family_id),
    CONSTRAINT document_vectors_chunk_fkey FOREIGN KEY (space_id, chunk_id)
        REFERENCES document_chunks (space_id, id) ON DELETE CASCADE,
    CONSTRAINT document_vectors_normalised CHECK (l2_norm(embedding) BETWEEN 0.98 AND 1.02)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON documents, document_chunks, document_vectors TO perdure_app;
GRANT USAGE ON SEQUENCE documents_id_seq, document_chunks_id_seq TO perdure_app;

ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE document_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE document_vectors ENABLE ROW LEVEL SECURITY;

CREATE POLICY documents_space ON documents TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY document_chunks_space ON document_chunks TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
CREATE POLICY document_vectors_space ON document_vectors TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
