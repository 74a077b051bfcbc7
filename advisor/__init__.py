"""Knowledge of Mountwright: options, facts, rules and models. Pure functions: no I/O, clock or randomness."""
