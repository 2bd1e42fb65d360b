"""How `perdure eval` shows how far it is, and what it found."""
