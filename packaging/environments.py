"""Python environments of the checkout, made by uv from locked and hashed requirements.

Standard library only. Nothing outside the checkout is changed: uv is in ``.cache/uv``, its downloads are in
``.cache/downloads``, each environment is in ``.venv-NAME``. A stamp file in each environment records what it
was made from, so that the next start is quick.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from system_packages import SetupError, say

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).absolute().parents[1]
CACHE = ROOT / ".cache"
REQUIREMENTS = ROOT / "packaging" / "requirements"
OLDEST_PYTHON = (3, 11)
NEWER_PYTHONS = ("3.12", "3.13")
#: Files of locked requirements that each environment is made from.
ENVIRONMENTS = {
    "run": ("run",),  # the program with its window
    "test": ("test",),  # the program with its window, the tests' and the checks' tools
    "noqt": ("noqt",),  # what app and advisor need, and the tests' tools, without Qt
}


@contextlib.contextmanager
def setup_lock() -> Iterator[None]:
    """Hold the lock that allows one process at a time to set up this checkout."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "setup.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another set-up of this checkout to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _print(python: str, code: str) -> str | None:
    """Run a line of code with an interpreter; return its output, None if that fails."""
    command = [python, "-IS", "-c", code]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def version_of(python: str) -> tuple[int, int] | None:
    """Return an interpreter's (major, minor) version, None if it does not run, like some pyenv shims."""
    parts = (_print(python, "import sys; print(*sys.version_info[:2])") or "").split()
    return (int(parts[0]), int(parts[1])) if len(parts) == 2 else None


def base_python() -> str:
    """Return the interpreter for the environments: the system's, or the first suitable one on PATH.

    Raises:
        SetupError: if no interpreter is at least OLDEST_PYTHON.
    """
    for name in ("/usr/bin/python3", sys.executable, "python3.13", "python3.12", "python3.11"):
        found = version_of(name)
        if found is not None and found >= OLDEST_PYTHON:
            return _real(name)
    raise SetupError(
        "Python 3.11 or newer is needed; Debian 13, Debian 12 and Ubuntu 24.04 have it as python3."
    )


def newer_pythons() -> dict[str, str]:
    """Return the installed interpreters of NEWER_PYTHONS, by version, without the base interpreter."""
    mine = version_of(base_python())
    found: dict[str, str] = {}
    for version in NEWER_PYTHONS:
        wanted = (int(version.split(".")[0]), int(version.split(".")[1]))
        for path in _on_path(f"python{version}"):
            if wanted != mine and version_of(path) == wanted:
                found[version] = _real(path)
                break
    return found


def _on_path(name: str) -> list[str]:
    """Return all programs of this name on PATH and in pyenv's versions, whose shims may be inactive."""
    folders = os.environ.get("PATH", os.defpath).split(":")
    found = [path for folder in folders if (path := shutil.which(name, path=folder))]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [*found, *map(str, sorted(versions.glob(f"*/bin/{name}")))]


def _real(python: str) -> str:
    """Return the path of the interpreter itself, instead of a pyenv shim."""
    return _print(python, "import sys; print(sys.executable)") or python


def folder_of(name: str, version: str = "") -> Path:
    """Return the directory of an environment.

    Args:
        name: key of ENVIRONMENTS.
        version: one of NEWER_PYTHONS; "" for the base interpreter.
    """
    return ROOT / (f".venv-{name}-{version}" if version else f".venv-{name}")


def python_of(name: str, version: str = "") -> Path:
    """Return the interpreter of an environment; arguments as of folder_of."""
    return folder_of(name, version) / "bin" / "python"


def _wanted(name: str) -> dict[str, str]:
    """Return the stamp of an environment: it must be made anew when one of these values changes."""
    digest = hashlib.sha256()
    for part in ENVIRONMENTS[name]:
        digest.update((REQUIREMENTS / f"{part}.txt").read_bytes())
    return {"root": str(ROOT), "lock": digest.hexdigest()}


def is_ready(name: str, version: str = "") -> bool:
    """Whether the environment exists and is up to date, by its stamp file and the time of its interpreter."""
    folder = folder_of(name, version)
    try:
        stamp = json.loads((folder / "stamp.json").read_text())
        base = stamp.pop("base")
        base_time = stamp.pop("base_time")
        return stamp == _wanted(name) and os.stat(base).st_mtime_ns == base_time  # noqa: PTH116 - quick start
    except (OSError, ValueError, KeyError):
        return False


def make(name: str, python: str, version: str = "") -> None:
    """Make an environment from its locked requirements; an existing one is replaced.

    Args:
        name: key of ENVIRONMENTS.
        python: interpreter to make it from.
        version: version of that interpreter for the directory's name, "" for the base interpreter.

    Raises:
        SetupError: if uv or a package cannot be fetched or installed.
    """
    folder = folder_of(name, version)
    label = f"{folder.name} (Python {'.'.join(map(str, version_of(python) or ()))})"
    say(f"setting up {label}: locked packages, this can take minutes the first time")
    (folder / "stamp.json").unlink(missing_ok=True)
    # Made anew, because after an upgrade of Python or a move of the checkout the old one is useless.
    # uv hard-links the packages from its cache, which takes a second.
    uv("venv", "--quiet", "--clear", "--no-project", "--python", python, str(folder))
    locks = [str(REQUIREMENTS / f"{part}.txt") for part in ENVIRONMENTS[name]]
    # Compiled now: in the lab's guests these files are read-only, and each process would compile them again.
    uv("pip", "sync", "--quiet", "--require-hashes", "--compile-bytecode", "--python",
       str(folder / "bin" / "python"), *locks)  # fmt: skip
    site = next((folder / "lib").glob("python3*/site-packages"))
    (site / "mountwright.pth").write_text(f"{ROOT}\n")
    stamp = {**_wanted(name), "base": python, "base_time": Path(python).stat().st_mtime_ns}
    (folder / "stamp.json").write_text(json.dumps(stamp))


def uv(*arguments: str) -> None:
    """Run the locked version of uv, with the user's own settings for indexes and certificates.

    Raises:
        SetupError: if it fails; its messages are on standard error.
    """
    program = _ensure_uv()
    if subprocess.run([program, *arguments], check=False, env=_uv_environment()).returncode:
        raise SetupError(
            "Packages could not be fetched or installed; the lines above say why. If this machine has no "
            "network or sits behind a proxy, set pip's or uv's usual variables (PIP_INDEX_URL, HTTPS_PROXY) "
            "and try again."
        )


def _ensure_uv() -> str:
    folder = CACHE / "uv"
    lock = REQUIREMENTS / "uv.txt"
    stamp = folder / "stamp"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    program = folder / "bin" / "uv"
    if program.exists() and stamp.exists() and stamp.read_text() == wanted:
        return str(program)
    say("fetching uv into .cache/uv (the version and hash are locked)")
    shutil.rmtree(folder, ignore_errors=True)
    python = base_python()
    done = subprocess.run([python, "-m", "venv", str(folder)], check=False, stdout=sys.stderr)
    if done.returncode:
        raise SetupError("Python's venv module does not work here; on Debian it comes with python3-venv.")
    pip = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "--retries",
        "2",
    ]
    done = subprocess.run(
        [*pip, "install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(lock)],
        check=False, stdout=sys.stderr,
    )  # fmt: skip
    if done.returncode:
        raise SetupError("uv could not be fetched. Is the network up, and does “pip download uv” work?")
    stamp.write_text(wanted)
    return str(program)


def _uv_environment() -> dict[str, str]:
    """Return uv's environment variables: the user's own, pip's index settings, and defaults for the rest."""
    env = {
        "UV_CACHE_DIR": str(CACHE / "downloads"),
        "UV_SYSTEM_CERTS": "true",
        "UV_HTTP_TIMEOUT": "180",
        **_pip_settings(),
        **os.environ,
    }
    env["UV_PYTHON_DOWNLOADS"] = "never"
    return env


def _pip_settings() -> dict[str, str]:
    """Return the index settings of pip's configuration as environment variables of uv."""
    command = [str(CACHE / "uv" / "bin" / "python"), "-m", "pip", "config", "list"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    names = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS"}
    found: dict[str, str] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition("=")
        name = names.get(key.rsplit(".", 1)[-1])
        if name and "UV_INDEX_URL" not in os.environ:
            found[name] = " ".join(value.strip().strip("'\"").replace("\\n", " ").split())
    return found
