"""REST: every verb of a space under its path."""
