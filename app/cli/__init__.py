"""Command line: argument parser, commands, and their output as text or JSON."""
