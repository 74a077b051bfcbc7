"""The helper: the only part that runs as root. Standard library only; it imports nothing of the rest.

One process per role. It is started by the agent (through polkit's pkexec for an ordinary user, directly
by root), reads requests from its standard input and ends with it. It trusts nobody: every field is
validated again here, option strings are built here from the catalogue, and it runs no program that the
caller names, except as the caller (:mod:`app.helper.bench`).

It stays small enough to be read: what the process of one role loads has at most 2,500 lines, and the code of
the whole package, without blank lines, comments and docstrings, 2,750. A test holds both.
"""
