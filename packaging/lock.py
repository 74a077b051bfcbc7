"""Locked requirements: resolves the dependencies of pyproject.toml with uv, or checks that the files match.

    python3 packaging/lock.py              # after a change of dependencies; keeps the versions it can
    python3 packaging/lock.py --upgrade    # newest versions of everything
    python3 packaging/lock.py --check      # no network: compares the digest in each file's first line

The files contain versions and hashes for every supported Python and platform. They name no package index, so
that each machine uses its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).absolute().parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

from environments import REQUIREMENTS, setup_lock, uv  # noqa: E402
from system_packages import SetupError, say  # noqa: E402

UV = ("uv==0.13.8",)
#: Extras and dependency groups of pyproject.toml in each requirements file.
FILES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "run": (("window",), ()),
    "noqt": ((), ("test",)),
    "test": (("window",), ("test", "test-window", "lint")),
}


def inputs() -> dict[str, list[str]]:
    """Return the unlocked requirements of each file, from the current pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    groups = project["dependency-groups"]
    requirements_of = {"uv": list(UV)}
    for name, (wanted_extras, wanted_groups) in FILES.items():
        lists = [project["project"]["dependencies"], *(extras[e] for e in wanted_extras)]
        lists += [groups[group] for group in wanted_groups]
        requirements_of[name] = [requirement for part in lists for requirement in part]
    return requirements_of


def first_line(requirements: list[str]) -> str:
    """Return the first line of a lock file, with the SHA-256 of its unlocked requirements."""
    digest = hashlib.sha256(json.dumps(requirements).encode()).hexdigest()
    return f"# Made by packaging/lock.py from pyproject.toml; requirements {digest}"


def stale() -> list[str]:
    """Return the names of the lock files that are missing or do not match pyproject.toml."""
    found: list[str] = []
    for name, requirements in inputs().items():
        path = REQUIREMENTS / f"{name}.txt"
        if not path.exists() or path.read_text().partition("\n")[0] != first_line(requirements):
            found.append(path.name)
    return found


def write(name: str, requirements: list[str], options: list[str]) -> None:
    """Resolve requirements with ``uv pip compile`` and write the lock file.

    Args:
        name: name of the file, without ``.txt``.
        requirements: unlocked requirements.
        options: additional options of uv, such as --upgrade.
    """
    path = REQUIREMENTS / f"{name}.txt"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "requirements.in"
        source.write_text("\n".join(requirements) + "\n")
        out = Path(folder) / "out.txt"
        if path.exists():
            out.write_text(path.read_text())
        uv("pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes",
           "--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links",
           "--output-file", str(out), *options, str(source))  # fmt: skip
        body = "".join(line for line in out.read_text().splitlines(keepends=True) if not line.startswith("#"))
    path.write_text(f"{first_line(requirements)}\n{body}")
    say(f"wrote {path.relative_to(ROOT)}")


def main(arguments: list[str]) -> int:
    """Run the command with these arguments; return its exit status."""
    if arguments == ["--check"]:
        old = stale()
        for name in old:
            print(f"{name} is not made from pyproject.toml as it is now: run python3 packaging/lock.py")
        return 1 if old else 0
    if arguments not in ([], ["--upgrade"]):
        print(__doc__)
        return 2
    # Wheels of a local directory would add their own hashes.
    os.environ.update(UV_FIND_LINKS="", PIP_FIND_LINKS="")
    try:
        with setup_lock():
            for name, requirements in inputs().items():
                write(name, requirements, arguments)
    except SetupError as error:
        say(f"lock: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
