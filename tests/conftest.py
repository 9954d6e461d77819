"""What holds for all tests: no test asserts a time, so no example has a deadline."""

from hypothesis import settings

settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")
