"""Speed tests: one test from its plan through the worker process to its result and what may be said of it."""
