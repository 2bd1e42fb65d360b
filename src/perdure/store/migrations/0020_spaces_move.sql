-- A space is imported under a name of its own and gets its real one when it is whole.
GRANT UPDATE (name, time_zone, created_at), DELETE ON spaces TO perdure_app;
