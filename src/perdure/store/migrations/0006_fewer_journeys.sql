-- What a writer has to look for again once it holds the space, and what a capture pays for.

-- The nearest memories of a new one are looked for before it is judged; with the space locked they are looked for again
-- only if something came in since, and this tells.
ALTER TABLE space_state ADD COLUMN arrivals bigint NOT NULL DEFAULT 0;

COMMENT ON COLUMN space_state.arrivals IS 'grows whenever a memory may be near to something that it was not near to';

-- No statement goes by conversation any more. Which spaces have something due is read from the index alone, however
-- many rows wait: those of one space lie together, and with when they came in.
DROP INDEX pending_triage_conversation;
DROP INDEX pending_distillation_conversation;
DROP INDEX pending_followups_conversation;

DROP INDEX pending_triage_due;
DROP INDEX pending_distillation_due;
DROP INDEX pending_followups_due;
CREATE INDEX pending_triage_due ON pending_triage (space_id, due_at, enqueued_at);
CREATE INDEX pending_distillation_due ON pending_distillation (space_id, due_at, enqueued_at);
CREATE INDEX pending_followups_due ON pending_followups (space_id, due_at, enqueued_at);
