"""Version of the program, shared by the command line, the agent and the window."""

VERSION = "0.1.0"
