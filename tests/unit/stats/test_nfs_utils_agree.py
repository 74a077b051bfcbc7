"""Rates compared with those of nfsiostat(8) and mountstats(8) from the same recorded files."""

from __future__ import annotations

import random
import re
from pathlib import Path

import nfs_utils
import pytest

DATA = Path(__file__).parents[2] / "data" / "mountstats"
#: Time between the two readings, s.
SECONDS = 7
needed = pytest.mark.skipif(
    not (nfs_utils.script("nfsiostat") and nfs_utils.script("mountstats")),
    reason="nfs-utils is not installed",
)


def later(text: str, rng: random.Random) -> str:
    """Return the mountstats text with every counter increased by a random amount or unchanged."""

    def operation(match: re.Match[str]) -> str:
        numbers = [int(word) for word in match[2].split()]
        calls = rng.choice([0, 1, rng.randrange(10**6)])
        added = [calls, calls + rng.randrange(3), rng.randrange(2)]
        added += [rng.randrange(10**9) if calls else 0 for _ in numbers[3:8]]
        added += [rng.randrange(calls + 1) for _ in numbers[8:]]
        if not calls:
            added = [0] * len(numbers)
        return match[1] + " ".join(str(a + b) for a, b in zip(numbers, added, strict=True))

    def transport(match: re.Match[str]) -> str:
        numbers = [int(word) for word in match[2].split()]
        numbers[5] += rng.randrange(10**6)  # sends
        return match[1] + " ".join(map(str, numbers))

    text = re.sub(r"(?m)^(\s+[A-Z][A-Z0-9_]*: )(\d[\d ]*\d)$", operation, text)
    text = re.sub(r"(?m)^(\txprt:\ttcp )(\d[\d ]*\d)\s*$", transport, text)
    return re.sub(r"(?m)^(\tage:\t)(\d+)", lambda match: match[1] + str(int(match[2]) + SECONDS), text)


@needed
@pytest.mark.parametrize("path", sorted(DATA.glob("*.txt")), ids=lambda path: path.stem)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_figures_from_the_same_files(path: Path, seed: int, tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.write_text(later(path.read_text(), random.Random(seed)))
    our = nfs_utils.ours(path, new, SECONDS)
    nfs_utils.assert_agree(nfs_utils.nfsiostat(path, new, SECONDS), our)
    nfs_utils.assert_agree(nfs_utils.mountstats(path, new), our)
