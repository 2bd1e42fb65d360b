-- A tick of upkeep that ran out of time goes on where it was, however large the space is.

ALTER TABLE upkeep_state ADD COLUMN reached bigint NOT NULL DEFAULT 0;

COMMENT ON COLUMN upkeep_state.reached IS 'the last memory that an unfinished tick came to; 0 once one is finished';
