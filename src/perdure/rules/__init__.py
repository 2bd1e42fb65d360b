"""Pure decisions: no clock, no database, no package outside the standard library; everything comes in as arguments."""
