"""Test: one speed test, its plot and its figures."""
