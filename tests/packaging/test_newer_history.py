"""An older program reads a newer one's history, says so, and leaves it as it is."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

from sample_results import result

from app.history.model import Run
from app.history.schema import MIGRATIONS
from app.history.store import HistoryStore

ROOT = Path(__file__).parents[2]


def test_the_command_line_reads_the_history_of_a_newer_program_and_says_so() -> None:
    with HistoryStore.open() as store:
        store.add(Run(result=result()))
        path = store._database.path
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    newer.commit()
    newer.close()
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "ui.entry", "history", "list", "--json"],
        cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 1
    assert "newer version of this program" in done.stderr
    assert path.read_bytes() == before
