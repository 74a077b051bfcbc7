"""Experiments: option sets compared by repeated speed tests, and the search for the fastest set."""
