"""Shell commands in a guest of their own, with the program as ``mw`` and the guest's share as ``$S``.

In a guest, an interpreter takes a second to import the program's modules. ``mw`` is therefore a fork of a
process that has imported them and done nothing else. test_shell.py and test_cli.py test the program's own
start
from a shell.
"""

import atexit
import contextlib
import gc
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from app.cli import main as _imported  # noqa: F401 - used by the forks
from app.lab.server import SHARE
from app.process import run
from ui import entry

#: Timeout of one command, s: in a guest an interpreter takes seconds to start.
_PATIENCE_S = 120.0
_HOME = Path(__file__).resolve().parents[2]
_PLACE = Path("/tmp/mw")
#: Shell script ``mw``: sends its process id and arguments, and waits for the exit status, by shell builtins.
_PROGRAM = f"""#!/bin/sh
cd {_HOME} || exit
printf '%s\\0' "$@" > {_PLACE}/words
echo $$ > {_PLACE}/requests
read -r status < {_PLACE}/answer
exit "$status"
"""


def run_commands(commands: list[str]) -> dict[str, Any]:
    """Run each command separately as root; return its output and exit status.

    Only one ``mw`` can run at a time.
    """
    found = []
    with loaded_program() as program:
        environment = {"S": SHARE, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": "/tmp"}
        for command in commands:
            outcome = run(["/bin/sh", "-c", command], timeout=_PATIENCE_S, env=environment)
            found.append({"out": outcome.stdout, "err": outcome.stderr, "ok": outcome.ok})
    return {"commands": found}


@contextlib.contextmanager
def loaded_program() -> Iterator[Path]:
    """Start a process with the program's modules; yields the command ``mw``, which runs a fork of it."""
    program = _PLACE / "bin" / "mw"
    program.parent.mkdir(parents=True)
    program.write_text(_PROGRAM)
    program.chmod(0o755)
    for name in ("requests", "answer"):
        os.mkfifo(_PLACE / name)
    child = os.fork()
    if child == 0:
        _serve()
    try:
        yield program
    finally:
        (_PLACE / "requests").write_text("0\n")
        os.waitpid(child, 0)


def _serve() -> NoReturn:
    try:
        gc.freeze()
        # Opened for reading and writing: a reader alone would get an end of file after each request.
        with os.fdopen(os.open(_PLACE / "requests", os.O_RDWR), buffering=1) as requests:
            while pid := int(requests.readline()):
                worker = os.fork()
                if worker == 0:
                    _work(pid)
                status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
                (_PLACE / "answer").write_text(f"{status if status >= 0 else 128 - status}\n")
    except BaseException:  # noqa: BLE001 - told; nothing may return into the process that was copied
        traceback.print_exc()
    finally:
        os._exit(1)


def _work(pid: int) -> NoReturn:
    """Run the program with arguments, streams, environment and directory of another process; never return."""
    status = 1
    try:
        words = (_PLACE / "words").read_bytes().split(b"\0")[:-1]
        sys.argv[1:] = [os.fsdecode(word) for word in words]
        texts = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")[:-1]
        os.environb.clear()
        os.environb.update(dict(text.split(b"=", 1) for text in texts))
        os.chdir(f"/proc/{pid}/cwd")
        for fd, flags in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
            stream = os.open(f"/proc/{pid}/fd/{fd}", flags)
            os.dup2(stream, fd)
            os.close(stream)
        os.closerange(3, 64)
        status = entry.start()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - told; nothing may return into the process that was copied
        traceback.print_exc()
    finally:
        # As the interpreter does at its exit.
        with contextlib.suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
