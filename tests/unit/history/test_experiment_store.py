"""List of saved experiments: their progress, and unreadable ones."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from sample_experiment import experiment

from app.errors import AppError
from app.history import experiment_store
from app.history.database import default_path
from app.history.store import HistoryStore


def save_experiment() -> int:
    with HistoryStore.open() as store:
        return store.add_experiment(experiment())


def test_failed_trials_are_not_done() -> None:
    number = save_experiment()
    (line,) = experiment_store.experiments_of_share("nas:/a")
    assert (line.number, line.done, line.planned, line.unfinished) == (number, 35, 36, True)
    assert experiment_store.load_experiment(number).done == 35
    assert experiment_store.load_experiment(number).resumable


def test_an_unreadable_experiment_does_not_hide_others() -> None:
    first, second = save_experiment(), save_experiment()
    with closing(sqlite3.connect(default_path())) as history:
        changed = 'UPDATE outcomes SET body = replace(body, \'"levels"\', \'"state":"new","levels"\')'
        history.execute(f"{changed} WHERE experiment = ? AND place = 2", (second,))
        history.commit()
    lines = {line.number: line for line in experiment_store.experiments_of_share("nas:/a")}
    assert lines[first].title == "Sizes & connections"
    assert lines[second].title == "quick: cannot be read"
    assert not lines[second].unfinished
    with pytest.raises(AppError, match=f"experiment {second} cannot be read"):
        experiment_store.load_experiment(second)
