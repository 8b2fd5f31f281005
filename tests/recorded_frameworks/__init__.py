"""Which frameworks can be recorded, with the packages themselves: `tests/recorded_frameworks/run`."""
