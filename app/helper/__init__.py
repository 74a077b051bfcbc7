"""The helper: the only part that runs as root. Standard library only; it imports nothing of the rest.

It is started by the agent (through polkit's pkexec for an ordinary user, directly by root) for one action,
and starts a process for each role of the action (:mod:`app.helper.main`). A role reads requests from a
socket and ends with it. It trusts nobody: every field is validated again here, option strings are built here
from the catalogue, and it runs no program that the caller names, except as the caller
(:mod:`app.helper.bench_verbs`).

It stays small enough to be read: what the process of one role loads has at most 1,900 lines of code, without
blank lines, comments and docstrings. A test holds that.

One authorization opens one session a role, with limits in time and number
(:class:`app.helper.session.Limits`). Every request that is begun leaves a line in the system's log when it
ends (:mod:`app.helper.audit`). docs/security.md says what each verb may touch, and which test holds which
threat.
"""
