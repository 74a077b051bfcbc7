"""Local agent process: ``python -P -m app.service`` serves the agent protocol on its standard streams."""

from __future__ import annotations

import logging
import os
import signal
import sys


def main() -> int:
    """Serve requests until standard input ends; return the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the window handles Ctrl-C and then ends the agent
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="agent: %(message)s")
    # Standard output is reserved for the protocol; stray prints go to standard error.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    from app.text.translate import install

    install()  # before the catalogues are read
    from app.service.server import AgentServer
    from app.service.transport import PipeTransport
    from app.service.verbs import HostVerbs
    from app.speedtest import leftover_files

    services = HostVerbs()
    leftover_files.watch_mounts()
    try:
        AgentServer(PipeTransport(sys.stdin.buffer, out), services.handlers()).serve()
    finally:
        services.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
