"""Speed, measured: `python -m benchmarks` (or `make bench`). The figures and how to read them: docs/benchmarks.md."""
