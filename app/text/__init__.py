"""Sentences for the window and the command line, made from codes and values."""
