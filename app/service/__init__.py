"""The agent: observes and acts on one host for the window or the command line, over JSON lines."""
