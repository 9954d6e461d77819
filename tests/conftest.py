"""What holds for all tests: one thread, as `make test` sets it, since two add up in another order;
and no test asserts a time, so no example has a deadline."""

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")
