"""The history: the user's database of tests and experiments, with comparison, export and import."""
