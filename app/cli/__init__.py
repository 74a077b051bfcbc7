"""The command line: the same services as the window, for terminals and scripts."""
