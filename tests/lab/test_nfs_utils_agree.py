"""Live figures compared with those of nfsiostat and mountstats, from the counters of real mounts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nfs_utils
import pytest

pytestmark = pytest.mark.lab

POINTS = {"/mnt/one": "vers=4.2,nconnect=2", "/mnt/two": "vers=3,nolock", "/mnt/three": "vers=4.0"}
SIZE = 8 << 20


def test_the_same_figures_from_live_counters(
    guest_job: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    texts = guest_job({"look-twice": {"points": POINTS, "size": SIZE}})["texts"]
    files = [tmp_path / "old", tmp_path / "new"]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    our = nfs_utils.ours(files[0], files[1], 3.0)
    for point in POINTS:
        for name in ("READ", "WRITE"):
            said = our[point, name]
            assert isinstance(said, nfs_utils.Said)
            assert said.kilobytes * 3 > SIZE / 1024
    nfs_utils.assert_agree(nfs_utils.nfsiostat(files[0], files[1], 3.0), our)
    nfs_utils.assert_agree(nfs_utils.mountstats(files[0], files[1]), nfs_utils.ours(files[0], files[1]))
