"""Bootstrap of ``./run``: installs missing packages, makes the Python environment, and starts the program.

Standard library only. If nothing is missing, it only compares two stamp files and executes the program in its
own process. ``MOUNTWRIGHT_SKIP_PACKAGES=1`` skips the check of Debian packages.
"""

from __future__ import annotations

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # During the imports, Ctrl-C ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).absolute().parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

from environments import CACHE, base_python, is_ready, make, python_of, setup_lock  # noqa: E402
from system_packages import TO_RUN, TO_TEST, Purpose, SetupError, ensure, find, say  # noqa: E402

_DPKG = "/var/lib/dpkg/status"


def packages_ready(purposes: tuple[Purpose, ...]) -> bool:
    """Whether the packages have been handled before, and dpkg has changed nothing since.

    A stamp file records the packages, installed or refused, and the time of dpkg's status file.
    """
    if os.environ.get("MOUNTWRIGHT_SKIP_PACKAGES"):
        return True
    try:
        return bool(json.loads(_package_stamp(purposes).read_text()) == _package_state(purposes))
    except (OSError, ValueError):
        return False


def _package_stamp(purposes: tuple[Purpose, ...]) -> Path:
    return CACHE / ("packages-test.json" if purposes is TO_TEST else "packages-run.json")


def _package_state(purposes: tuple[Purpose, ...]) -> dict[str, object]:
    changed = os.stat(_DPKG).st_mtime_ns if os.path.exists(_DPKG) else 0  # noqa: PTH110, PTH116 - quick start
    return {"dpkg": changed, "packages": [list(purpose.packages) for purpose in purposes]}


def set_up(names: tuple[str, ...], purposes: tuple[Purpose, ...]) -> None:
    """Install missing packages and make missing environments; print nothing if all are present.

    Args:
        names: environments, keys of environments.ENVIRONMENTS.
        purposes: groups of packages.

    Raises:
        SetupError: if an essential package or an environment cannot be installed.
    """
    if packages_ready(purposes) and all(is_ready(name) for name in names):
        return
    try:
        with setup_lock():
            if not packages_ready(purposes):
                ensure(purposes)
                _package_stamp(purposes).write_text(json.dumps(_package_state(purposes)))
            for name in names:
                if not is_ready(name):
                    make(name, base_python())
    except PermissionError as error:
        raise SetupError(
            f"{error.filename} cannot be written. The checkout must belong to the user who starts it "
            "(was it set up once through sudo?)."
        ) from error


def install_helper(arguments: list[str]) -> NoReturn:
    """Replace this process by the installer of the root helper, started with sudo.

    Args:
        arguments: arguments of install_helper.py.

    Raises:
        SetupError: if this process is not root and sudo is missing.
    """
    command = ["/usr/bin/python3", "-IB", str(ROOT / "packaging" / "install_helper.py"), *arguments]
    if os.geteuid() != 0:
        sudo = find("sudo")
        if sudo is None:
            raise SetupError(
                "Installing the helper needs root. Ask an administrator to run:\n  " + " ".join(command)
            )
        say("installing the root helper with sudo: /usr/libexec/mountwright and its polkit actions")
        command = [sudo, *command]
    os.execv(command[0], command)


def run(arguments: list[str]) -> NoReturn:
    """Set up the environment, and replace this process by the program or the helper's installer.

    Args:
        arguments: command line of ``./run``.
    """
    if arguments[:1] == ["install-helper"]:
        install_helper(arguments[1:])
    set_up(("run",), TO_RUN)
    python = str(python_of("run"))
    # Ctrl-C stays pending while the interpreter starts; ui.entry unblocks and handles it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.execv(python, [python, "-P", "-m", "ui.entry", *arguments])


def main() -> int:
    """Run the program with the arguments of ``./run``; return an exit status only after an error."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run(sys.argv[1:])
    except SetupError as error:
        say(f"mountwright: {error}")
    except KeyboardInterrupt:
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
