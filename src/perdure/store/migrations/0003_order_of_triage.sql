-- Which kinds wait in the queue of triage, and the first rows of each, are found without walking past all the others.

CREATE INDEX pending_triage_kind ON pending_triage (space_id, kind, id);
