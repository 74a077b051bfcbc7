"""Agent: observes and acts on one host for the window or the command line, over a JSON lines protocol."""
