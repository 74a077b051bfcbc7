"""The project speaks of itself alone: no file names a package index, a build place or an author's tool."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Spelled in parts, so that this file does not name them either.
_WORDS = [
    ("py", "pi.org"), ("python", "hosted.org"), ("registry.np", "mjs"), ("/wo", "rk/"), ("clau", "de"),
    ("anthro", "pic"), ("chat", "gpt"), ("open", "ai"), ("copi", "lot"), ("find-", "links "),
]  # fmt: skip


def files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name]


@pytest.mark.parametrize("word", ["".join(parts) for parts in _WORDS])
def test_no_file_says(word: str) -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in files()
        if path.is_file() and word.encode() in path.read_bytes().lower()
    ]
    assert found == []
