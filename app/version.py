"""The program's version, in one place for the command line, the agent and the window."""

VERSION = "0.1.0"
