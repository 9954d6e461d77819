"""Models that other people trained, looked at from inside. Loads transformers only to load one."""
