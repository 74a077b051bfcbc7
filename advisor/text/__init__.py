"""Sentences of the advisor for window, command line and report, made from codes and values."""
