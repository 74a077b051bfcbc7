"""Installer of the root helper and its polkit actions; root runs it with the system's python3.

    python3 packaging/install_helper.py [--remove] [--prefix FOLDER]

With ``--prefix`` everything is installed below a directory, for package builds and tests.

The new helper is written completely to a staging directory and flushed to disk. Then it is exchanged
atomically with the old helper (renameat2(2), RENAME_EXCHANGE). If the installer is killed at any moment, the
old or the new helper is installed as a whole.

Every source file is checked when it is read. A symbolic link is refused, and so is a file that a user other
than root and the owner of this installer could have written.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import grp
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).absolute().parents[1]
LIBEXEC = Path("/usr/libexec/mountwright")
#: Staging directory, and directory of the old helper before its removal. A killed installer may leave them.
STAGE, OLD = LIBEXEC.with_name(".mountwright.new"), LIBEXEC.with_name(".mountwright.old")
POLICY = Path("/usr/share/polkit-1/actions/org.mountwright.policy")
#: The helper reads TOML with tomllib.
OLDEST_PYTHON = (3, 11)
# linux/fcntl.h, linux/fs.h
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_DIRECTORY


class SourceError(Exception):
    """Unsuitable source file; the message names the file and the reason."""


def files() -> list[tuple[Path, Path, int]]:
    """Return (source, absolute destination, mode) of each installed file."""
    helper = sorted((SOURCE / "app" / "helper").glob("*.py"))
    return [
        (SOURCE / "packaging" / "mountwright-helper", LIBEXEC / "mountwright-helper", 0o755),
        (SOURCE / "packaging" / "mountwright-readahead", LIBEXEC / "mountwright-readahead", 0o755),
        (SOURCE / "resources" / "options.toml", LIBEXEC / "options.toml", 0o644),
        (SOURCE / "app" / "__init__.py", LIBEXEC / "app" / "__init__.py", 0o644),
        *((path, LIBEXEC / "app" / "helper" / path.name, 0o644) for path in helper),
        (SOURCE / "packaging" / "mountwright.policy", POLICY, 0o644),
    ]


def below(prefix: Path, path: Path) -> Path:
    """Return an absolute path moved below a prefix."""
    return prefix / path.relative_to("/")


def install(prefix: Path) -> None:
    """Install all files below a prefix; an earlier helper is replaced atomically.

    Raises:
        SourceError: if a source file is unsuitable; nothing is changed then.
        OSError: if a file cannot be read or written.
    """
    wanted = [(read(source), destination, mode) for source, destination, mode in files()]
    stage = below(prefix, STAGE)
    make_folders(prefix, stage.parent)
    remove_leftovers(prefix)
    for data, destination, mode in wanted:
        if destination.is_relative_to(LIBEXEC):
            staged = stage / destination.relative_to(LIBEXEC)
            make_folders(prefix, staged.parent)
            write(staged, data, mode)
    for folder in (stage / "app" / "helper", stage / "app", stage):
        flush(folder)
    put_in_place(prefix)
    for data, destination, mode in wanted:
        path = below(prefix, destination)
        if not destination.is_relative_to(LIBEXEC):
            make_folders(prefix, path.parent)
            write(path, data, mode)
            flush(path.parent)
        print(f"installed {path}")
    remove_leftovers(prefix)


def read(path: Path) -> bytes:
    """Return the contents of a source file that only root and the installer's owner can have written.

    Raises:
        SourceError: if the file or a directory on its path is a link, has another type, or is writable by
            other users.
    """
    parts = path.relative_to(SOURCE).parts
    fd = os.open(SOURCE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, part in enumerate(("", *parts)):
            if part:
                try:
                    found = os.open(part, _READ if number == len(parts) else _FOLDER, dir_fd=fd)
                except OSError as error:
                    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                        raise SourceError(
                            f"{path}: “{part}” is a symbolic link or of another kind."
                        ) from None
                    raise
                os.close(fd)
                fd = found
            check(SOURCE.joinpath(*parts[:number]), os.fstat(fd), is_file=number == len(parts))
        with os.fdopen(os.dup(fd), "rb") as file:
            return file.read()
    finally:
        os.close(fd)


def check(path: Path, found: os.stat_result, *, is_file: bool) -> None:
    """Check type, owner and mode of a file or directory of the checkout.

    Args:
        path: its path, for messages.
        found: its fstat(2) result.
        is_file: whether it must be a regular file, else a directory.

    Raises:
        SourceError: if it is unsuitable.
    """
    owner = Path(__file__).stat().st_uid
    if not (stat.S_ISREG if is_file else stat.S_ISDIR)(found.st_mode):
        raise SourceError(f"“{path}” is not a {'plain file' if is_file else 'folder'}.")
    if found.st_uid not in {0, owner}:
        raise SourceError(f"“{path}” belongs to the user {found.st_uid}, not to root or the user {owner}.")
    if is_file and found.st_nlink != 1 and found.st_uid != owner:
        raise SourceError(f"“{path}” is a file of root with another name somewhere else.")
    if found.st_mode & 0o002 or (found.st_mode & 0o020 and not is_private_group(found.st_uid, found.st_gid)):
        raise SourceError(f"Other users could change “{path}”. “chmod go-w {path}” ends that.")


def is_private_group(uid: int, gid: int) -> bool:
    """Whether a group has only this user as a member, by the rule of pam_umask(8), usergroups.

    Files of a checkout are often writable by such a group.
    """
    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and user.pw_name == group.gr_name and not set(group.gr_mem) - {user.pw_name}


def put_in_place(prefix: Path) -> None:
    """Exchange the staged helper with the installed one; the old one remains as STAGE or OLD.

    Raises:
        OSError: if a rename fails.
    """
    stage, target = below(prefix, STAGE), below(prefix, LIBEXEC)
    if not os.path.lexists(target):
        stage.rename(target)
    elif (number := renameat2(stage, target, _RENAME_EXCHANGE)) in {errno.EINVAL, errno.ENOSYS, errno.EXDEV}:
        # The file system does not support an exchange: for a moment no helper is installed, but never a part.
        target.rename(below(prefix, OLD))
        stage.rename(target)
    elif number:
        raise OSError(number, os.strerror(number), str(target))
    flush(target.parent)


def owning_package() -> str:
    """Return the name of the dpkg or rpm package that owns the installed helper, "" for none."""
    path = str(LIBEXEC / "mountwright-helper")
    for command in (["/usr/bin/dpkg-query", "-S", path], ["/usr/bin/rpm", "-qf", "--qf", "%{NAME}: ", path]):
        with contextlib.suppress(OSError):
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode == 0:
                return done.stdout.partition(":")[0]
    return ""


def renameat2(first: Path, second: Path, flags: int) -> int:
    """Rename or exchange two paths by the system call with these flags; return its errno, 0 for success."""
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), flags)
    return 0 if done == 0 else ctypes.get_errno()


def remove_leftovers(prefix: Path) -> None:
    """Remove STAGE and OLD below a prefix."""
    for path in (below(prefix, STAGE), below(prefix, OLD)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def make_folders(prefix: Path, folder: Path) -> None:
    """Create a directory and its missing parents below the prefix, with mode 0755 whatever the umask."""
    missing = [part for part in (folder, *folder.parents) if not part.exists() and part != prefix]
    for part in reversed(missing):
        part.mkdir()
        part.chmod(0o755)


def write(target: Path, data: bytes, mode: int) -> None:
    """Write a file atomically, by a flushed temporary file of the same directory; root becomes its owner."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
            if os.geteuid() == 0:
                os.fchown(file.fileno(), 0, 0)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def flush(folder: Path) -> None:
    """Flush the entries of a directory to disk."""
    fd = os.open(folder, _FOLDER)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def remove(prefix: Path) -> None:
    """Remove the helper and its polkit actions."""
    folder, policy = below(prefix, LIBEXEC), below(prefix, POLICY)
    remove_leftovers(prefix)
    if os.path.lexists(folder):
        folder.rename(below(prefix, OLD))  # so that a partly removed helper is never at its path
        remove_leftovers(prefix)
        print(f"removed {folder}")
    if policy.exists():
        policy.unlink()
        print(f"removed {policy}")


def main(argv: list[str]) -> int:
    """Run the installer with these arguments; return its exit status."""
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
    if prefix == Path("/") and (package := owning_package()):
        print(
            f"install_helper: The helper belongs to the package {package}, and a checkout uses it too. "
            f"Upgrade or remove the package {package}.",
            file=sys.stderr,
        )
        return 1
    try:
        (remove if options.remove else install)(prefix)
    except SourceError as error:
        print(f"install_helper: Nothing was installed. {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"install_helper: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
