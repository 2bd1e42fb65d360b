-- Who vouches for each piece of evidence, what a reason speaks of, what each layer made of a memory; and no memory
-- names one that fewer people may see.

ALTER TABLE memory_evidence ADD COLUMN trust text;
UPDATE memory_evidence e
SET trust = CASE WHEN e.kind IN ('email', 'calendar') THEN 'external' ELSE m.trust END
FROM memories m
WHERE m.space_id = e.space_id AND m.id = e.memory_id;
ALTER TABLE memory_evidence ALTER COLUMN trust SET NOT NULL;
ALTER TABLE memory_evidence ADD CONSTRAINT memory_evidence_trust
    CHECK (trust IN ('user', 'assistant', 'tool', 'external', 'derived'));

COMMENT ON COLUMN memory_evidence.trust IS
    'who vouched for what was said then: less trusted words bear a memory out and don''t renew it';

ALTER TABLE memory_history ADD COLUMN about bigint;
ALTER TABLE memory_history ADD COLUMN made_by text;

COMMENT ON COLUMN memory_history.about IS 'the other memory that the reason speaks of: erasing it erases the reason';
COMMENT ON COLUMN memory_history.made_by IS 'the prompt and model whose answer led to the change';

ALTER TABLE memories ADD COLUMN marks jsonb NOT NULL DEFAULT '{}';

COMMENT ON COLUMN memories.marks IS
    'by call site (quality, entities): the prompt and model that the memory was scored or completed by';

CREATE INDEX memory_history_about ON memory_history (space_id, about) WHERE about IS NOT NULL;

UPDATE memory_history h SET about = (h.state ->> 'superseded_by')::bigint
WHERE h.state ->> 'superseded_by' IS NOT NULL;
UPDATE memory_history h SET about = s.superseded_by
FROM memory_state s
WHERE s.space_id = h.space_id AND s.memory_id = h.memory_id AND s.superseded_by IS NOT NULL
    AND h.action = 'supersede' AND h.about IS NULL;

UPDATE memories m
SET related_ids = ARRAY(
    SELECT r.id FROM unnest(m.related_ids) WITH ORDINALITY AS r (id, place)
    JOIN memory_state o ON o.space_id = m.space_id AND o.memory_id = r.id
    JOIN memory_state s ON s.space_id = m.space_id AND s.memory_id = m.id
    WHERE o.audience IS NULL OR o.audience = s.audience
    ORDER BY r.place)
WHERE m.related_ids <> '{}';
UPDATE memories m
SET conflicts_with = ARRAY(
    SELECT r.id FROM unnest(m.conflicts_with) WITH ORDINALITY AS r (id, place)
    JOIN memory_state o ON o.space_id = m.space_id AND o.memory_id = r.id
    JOIN memory_state s ON s.space_id = m.space_id AND s.memory_id = m.id
    WHERE o.audience IS NULL OR o.audience = s.audience
    ORDER BY r.place)
WHERE m.conflicts_with <> '{}';
