"""The helper: the only part that runs as root. Standard library only; it imports nothing of the rest.

One process per role. It is started by the agent (through polkit's pkexec for an ordinary user, directly
by root), reads requests from its standard input and ends with it. It trusts nobody: every field is
validated again here, option strings are built here from the catalogue, and it runs no program that the
caller names, except as the caller (:mod:`app.helper.bench`).

It stays small enough to be read: what the process of one role loads has at most 1,900 lines of code, without
blank lines, comments and docstrings. A test holds that.

One authorization opens one session, with limits in time and number (:class:`app.helper.session.Limits`).
Every request leaves a line in the system's log (:mod:`app.helper.audit`).
"""
