"""Install the root helper and its polkit actions, or remove them. Run it as root with the system's python3.

    python3 packaging/install_helper.py [--remove] [--prefix FOLDER]

With ``--prefix`` everything goes below a folder, as package builds and tests want it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).absolute().parents[1]
LIBEXEC = Path("/usr/libexec/mountwright")
POLICY = Path("/usr/share/polkit-1/actions/org.mountwright.policy")
#: The helper reads TOML with tomllib.
OLDEST_PYTHON = (3, 11)


def files() -> list[tuple[Path, Path, int]]:
    """Return (source, absolute destination, mode) of everything that is installed."""
    helper = sorted((SOURCE / "app" / "helper").glob("*.py"))
    return [
        (SOURCE / "packaging" / "mountwright-helper", LIBEXEC / "mountwright-helper", 0o755),
        (SOURCE / "resources" / "options.toml", LIBEXEC / "options.toml", 0o644),
        (SOURCE / "app" / "__init__.py", LIBEXEC / "app" / "__init__.py", 0o644),
        *((path, LIBEXEC / "app" / "helper" / path.name, 0o644) for path in helper),
        (SOURCE / "packaging" / "mountwright.policy", POLICY, 0o644),
    ]


def below(prefix: Path, path: Path) -> Path:
    """Return an absolute path as it stands below a prefix."""
    return prefix / path.relative_to("/")


def install(prefix: Path) -> None:
    """Install all files, replacing an earlier installation as a whole."""
    remove_helper(prefix)
    for source, destination, mode in files():
        target = below(prefix, destination)
        make_folders(prefix, target.parent)
        write(target, source.read_bytes(), mode)
        print(f"installed {target}")


def make_folders(prefix: Path, folder: Path) -> None:
    """Make the folder and its missing parents, each 0755 whatever the umask."""
    missing = [part for part in (folder, *folder.parents) if not part.exists() and part != prefix]
    for part in reversed(missing):
        part.mkdir()
        part.chmod(0o755)


def write(target: Path, data: bytes, mode: int) -> None:
    """Write a file under another name and rename it, so that nobody ever sees a part of it."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        os.fchmod(file.fileno(), mode)
        if os.geteuid() == 0:
            os.fchown(file.fileno(), 0, 0)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(target)


def remove_helper(prefix: Path) -> None:
    """Remove an installed helper, if there is one."""
    folder = below(prefix, LIBEXEC)
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
        print(f"removed {folder}")


def remove(prefix: Path) -> None:
    """Remove the helper and its polkit actions."""
    remove_helper(prefix)
    policy = below(prefix, POLICY)
    if policy.exists():
        policy.unlink()
        print(f"removed {policy}")


def main(argv: list[str]) -> int:
    """Carry out the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Install the root helper of Mountwright.")
    parser.add_argument("--remove", action="store_true", help="remove it instead")
    parser.add_argument("--prefix", type=Path, default=Path("/"), help="install below this folder")
    options = parser.parse_args(argv)
    prefix: Path = options.prefix
    if prefix == Path("/") and os.geteuid() != 0:
        print("install_helper: this must run as root (sudo ./run install-helper).", file=sys.stderr)
        return 77
    if prefix == Path("/") and sys.version_info < OLDEST_PYTHON:
        print("install_helper: /usr/bin/python3 must be Python 3.11 or newer.", file=sys.stderr)
        return 69
    try:
        (remove if options.remove else install)(prefix)
    except OSError as error:
        print(f"install_helper: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
