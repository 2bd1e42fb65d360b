"""The only room that speaks SQL: one module per aggregate, each with its statements beside the functions that run them.

`database` opens transactions; `spaces`, `memories`, `changes`, `postings`, `queue` and `families` are the aggregates;
`ranking` answers retrievals; `embedded`, `external`, `roles` and `migrate` bring a server to where it can be used;
`crossing` holds what looks over all spaces. Each module is a door of its own: the pipelines import the aggregate that
they work on, and nothing here imports a pipeline.
"""
