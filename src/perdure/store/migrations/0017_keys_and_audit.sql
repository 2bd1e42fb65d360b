-- Keys that let callers in through a network, and a log of who changed what: kinds, counts and ids, never words.

-- Global, outside row-level security: a key is looked up before any space is known. -------------------------------

CREATE TABLE api_keys (
    id bigserial CONSTRAINT api_keys_pkey PRIMARY KEY,
    prefix text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    secret_hash bytea NOT NULL,
    former_hash bytea,
    former_until timestamptz,
    scopes text[] NOT NULL,
    spaces text[],
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    rotated_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT api_keys_prefix UNIQUE (prefix),
    CONSTRAINT api_keys_name CHECK (char_length(name) BETWEEN 1 AND 100),
    CONSTRAINT api_keys_secret CHECK (octet_length(secret_hash) = 32),
    CONSTRAINT api_keys_former CHECK ((former_hash IS NULL) = (former_until IS NULL)),
    CONSTRAINT api_keys_scopes CHECK (scopes <@ ARRAY['read', 'write', 'admin'] AND cardinality(scopes) > 0),
    CONSTRAINT api_keys_spaces CHECK (cardinality(spaces) > 0)
);

COMMENT ON COLUMN api_keys.prefix IS 'the part of a key that may be seen; it stays when the secret is rotated';
COMMENT ON COLUMN api_keys.secret_hash IS 'SHA-256 of the secret, which has 256 random bits and stands nowhere';
COMMENT ON COLUMN api_keys.former_hash IS 'of the secret before the last rotation, which holds until former_until';
COMMENT ON COLUMN api_keys.spaces IS 'names of the spaces that it reaches; null is all of them';

CREATE UNIQUE INDEX api_keys_live_name ON api_keys (name) WHERE revoked_at IS NULL;

CREATE TABLE admin_log (
    id bigserial CONSTRAINT admin_log_pkey PRIMARY KEY,
    happened_at timestamptz NOT NULL,
    actor text NOT NULL,
    door text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    touched bigint NOT NULL,
    ids text[] COLLATE "C" NOT NULL DEFAULT '{}'
);

COMMENT ON TABLE admin_log IS 'what belongs to no space: keys, and spaces that were erased';

CREATE INDEX admin_log_time ON admin_log (happened_at, id);

-- Of each space. ---------------------------------------------------------------------------------------------------

CREATE TABLE audit_log (
    space_id bigint NOT NULL,
    id bigserial NOT NULL,
    happened_at timestamptz NOT NULL,
    actor text NOT NULL,
    door text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    touched bigint NOT NULL,
    ids text[] COLLATE "C" NOT NULL DEFAULT '{}',
    CONSTRAINT audit_log_pkey PRIMARY KEY (space_id, id)
);

COMMENT ON TABLE audit_log IS 'who changed what, and when; never what it says, so that it outlives what is forgotten';
COMMENT ON COLUMN audit_log.touched IS 'how many rows; ids are of the first of them';

CREATE INDEX audit_log_time ON audit_log (space_id, happened_at, id);

-- Nothing in a log is changed afterwards; old entries go by their retention.
GRANT SELECT, INSERT, DELETE ON audit_log, admin_log TO perdure_app;
GRANT SELECT, INSERT, UPDATE ON api_keys TO perdure_app;
GRANT USAGE ON SEQUENCE api_keys_id_seq, admin_log_id_seq, audit_log_id_seq TO perdure_app;

ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;
CREATE POLICY audit_log_space ON audit_log TO perdure_app
    USING (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint)
    WITH CHECK (space_id = NULLIF(current_setting('perdure.space_id', true), '')::bigint);
