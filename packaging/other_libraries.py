"""Libraries for another Python: fetches the locked libraries for the Python of another distribution.

Standard library only. uv installs wheels for a Python and a platform that this machine does not have
(``uv pip install --target --python-version --python-platform``); nothing of them runs here.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from environments import REQUIREMENTS, uv

if TYPE_CHECKING:
    from pathlib import Path

#: Platform of the wheels, as uv names it. Distributions with Python 3.11 or newer have glibc 2.34 or newer.
_PLATFORM = "{machine}-manylinux_2_34"


def fetch(folder: Path, python: str, machine: str) -> Path:
    """Install the locked libraries of the program below a directory; an earlier one is replaced.

    Args:
        folder: parent directory.
        python: version of Python, such as "3.14".
        machine: processor as in uname(1), such as "x86_64".

    Returns:
        The directory of the libraries.

    Raises:
        SetupError: if a library cannot be fetched, or does not exist for that Python and processor.
    """
    site = folder / f"libraries-{python}-{machine}"
    shutil.rmtree(site, ignore_errors=True)
    uv("pip", "install", "--quiet", "--target", str(site), "--python-version", python,
       "--python-platform", _PLATFORM.format(machine=machine), "--only-binary", ":all:", "--no-deps",
       "--require-hashes", "--requirements", str(REQUIREMENTS / "run.txt"))  # fmt: skip
    return site
