"""The project's own static checks. `python -m checks` runs them together with ruff, mypy and import-linter."""
