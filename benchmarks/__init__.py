"""Speed, measured: `python -m benchmarks` (or `make bench`). The figures and how to read them: docs/benchmarks.md."""

import os

# Before NumPy is loaded: on few cores a second thread only waits, and takes the time that the database needs.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
