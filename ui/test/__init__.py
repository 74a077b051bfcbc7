"""Test page: runs one speed test, plots it, and shows its figures."""
