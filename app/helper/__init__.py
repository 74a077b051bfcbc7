"""Privileged helper: the only code of Mountwright that runs as root.

It uses the standard library only and imports nothing from the other packages.

The agent starts it for one action: through polkit's pkexec for an ordinary user, directly for root. The
helper starts one process for each role of the action (:mod:`app.helper.main`). A role process reads requests
from a socket and ends when the socket is closed. It trusts no input: it validates every field again and
builds option strings from its own catalogue. It runs no program that the caller names, except with the
caller's identity (:mod:`app.helper.bench_verbs`).

The code stays small enough for a review. The process of one role loads at most 1,900 lines of code, not
counting blank lines, comments and docstrings. tests/unit/helper/test_process.py checks this limit.

One authorization opens one session per role, with limits on time and number of requests
(:class:`app.helper.session.Limits`). Each request that is started leaves one line in the system log when it
ends (:mod:`app.helper.audit`). docs/security.md lists the effects of each verb, and the test for each threat.
"""
