"""History page: find, compare, mark, delete, restore, export and import saved tests."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QInputDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableView,
    QTableWidget,
)
from sample_results import grid, result
from waiting import DEADLINE_S

from advisor.experiment.measurements import TrialOutcome
from advisor.speeds import SpeedUnit
from app.history import queries
from app.history.database import default_path
from app.history.import_export import history_to_json
from app.history.model import Run
from app.history.store import HistoryStore
from app.report.export import EXPORT_FORMATS, save_runs
from ui.common.message_list import MessageList
from ui.common.status_text import moment_text
from ui.history.table import (
    DIFFERENCE,
    READ,
    REMARKS,
    SETTINGS,
    SHARE,
    WHAT,
    WHEN,
    WRITE,
    HistoryModel,
    HistoryTable,
)
from ui.plots.timeline import differing_options, overlay_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from driver import Driver

SHARE_SHOWN = "nas01:/export/home"


@pytest.fixture(autouse=True)
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Save three tests of the shown share and one of another; return their numbers, oldest first."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    speeds = ([50e6, 51e6, 52e6, 53e6, 54e6], [90e6, 91e6, 92e6, 93e6, 94e6], [90e6, 90e6, 91e6, 93e6, 95e6])
    with HistoryStore.open() as store:
        numbers = [
            store.add(Run(result=result(
                values, values, samples=60, share=SHARE_SHOWN, path="/home",
                started_at=f"2026-03-0{day}T10:00:00+00:00", effective={"rsize": str(day * 4096)},
            )))
            for day, values in enumerate(speeds, 1)
        ]  # fmt: skip
        store.add(Run(result=result(cached=True, share="zeus:/b", started_at="2026-03-09T10:00:00+00:00")))
    return numbers


def view(driver: Driver) -> QTableView:
    found = driver.find(QTableView, "history")
    assert isinstance(found, QTableView)
    return found


def choose(driver: Driver, *places: int) -> None:
    table = view(driver)
    table.clearSelection()
    flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    for place in places:
        table.selectionModel().select(table.model().index(place, 0), flags)


def opened(driver: Driver) -> QTableView:
    driver.open()
    driver.tab("History")
    table = view(driver)
    driver.wait(lambda: table.model().rowCount() == 3)
    return table


def said(driver: Driver, name: str) -> list[str]:
    widget = driver.find(MessageList, name)
    assert isinstance(widget, MessageList)
    return widget.sentences()


def title(driver: Driver) -> str:
    label = driver.find(QLabel, "history-title")
    assert isinstance(label, QLabel)
    return label.text()


def test_this_share_all_shares_and_words(driver: Driver) -> None:
    table = opened(driver)
    scope = driver.find(QComboBox, "history-scope")
    assert isinstance(scope, QComboBox)
    scope.setCurrentIndex(1)
    driver.wait(lambda: table.model().rowCount() == 4)
    words = driver.find(QLineEdit, "history-words")
    assert isinstance(words, QLineEdit)
    words.setText("zeus")
    driver.wait(lambda: table.model().rowCount() == 1)
    words.setText("nothing-has-this")
    driver.wait(lambda: driver.text_of("history-count") == "No test contains these words.")


def test_what_is_typed_is_looked_for_on_another_thread(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def watched(work: Callable[..., object]) -> Callable[..., object]:
        def run(*args: object) -> object:
            threads.append(threading.current_thread())
            return work(*args)

        return run

    for name in ("find_runs", "select_runs"):
        monkeypatch.setattr(queries, name, watched(getattr(queries, name)))
    table = opened(driver)
    words = driver.find(QLineEdit, "history-words")
    driver.qtbot.keyClicks(words, "rsize=4096")  # type: ignore[no-untyped-call]
    driver.wait(lambda: table.model().rowCount() == 1)
    choose(driver, 0)
    driver.wait(lambda: driver.sees("history-results"))
    # The search starts after a pause in typing, not at every key.
    assert 3 <= len(threads) < 3 + len("rsize=4096")
    assert threading.main_thread() not in threads


def test_one_two_and_three(driver: Driver) -> None:
    opened(driver)
    choose(driver, 0)
    driver.wait(lambda: driver.sees("history-results"))
    assert title(driver).startswith(f"Test of {SHARE_SHOWN}")
    choose(driver, 1, 2)
    driver.wait(lambda: title(driver) == "Newer Test Compared with Older")
    assert any("faster" in text for text in said(driver, "history-ok"))
    assert not driver.sees("history-results")
    choose(driver, 0, 1)
    driver.wait(lambda: any("no significant difference" in text for text in said(driver, "history-info")))
    choose(driver, 0, 1, 2)
    driver.wait(lambda: title(driver) == "3 Tests Compared")
    driver.window.grab()


def test_a_grid_is_a_table_of_its_cells(driver: Driver) -> None:
    with HistoryStore.open() as store:
        store.add(Run(result=msgspec.structs.replace(grid(1000), share=SHARE_SHOWN)))
    driver.open()
    driver.tab("History")
    table = view(driver)
    driver.wait(lambda: table.model().rowCount() == 4)
    (place,) = [row for row in range(4) if table.model().index(row, WHAT).data() == "Grid of requests (fio)"]
    choose(driver, place)
    driver.wait(lambda: driver.sees("history-grid"))
    cells = driver.find(QTableWidget, "history-grid")
    assert isinstance(cells, QTableWidget)
    assert cells.rowCount() == 2
    assert not driver.sees("history-results")
    choose(driver, 0)
    driver.wait(lambda: driver.sees("history-results"))
    assert not driver.sees("history-grid")


def test_baseline_deletion_and_the_way_back(driver: Driver, stored: list[int]) -> None:
    table = opened(driver)
    choose(driver, 2)
    driver.click("history-baseline")
    driver.wait(lambda: table.model().index(2, DIFFERENCE).data() == "Baseline")
    assert table.model().index(0, DIFFERENCE).data() == "+75%  +75%"
    with HistoryStore.open() as store:
        assert store.get(stored[0]).baseline
    assert driver.text_of("history-told").endswith("are compared with this test.")
    choose(driver, 0)
    driver.click("history-baseline")
    driver.wait(lambda: "no longer the baseline" in driver.text_of("history-told"))
    choose(driver, 0, 1)
    driver.click("history-delete")
    driver.wait(lambda: driver.text_of("history-told") == "Deleted 2 tests.")
    driver.wait(lambda: table.model().rowCount() == 1)
    driver.click("history-undo")
    driver.wait(lambda: table.model().rowCount() == 3)
    with HistoryStore.open() as store:
        assert {row.id for row in store.find()} >= set(stored)


def test_what_is_being_deleted_is_not_deleted_once_more(driver: Driver, stored: list[int]) -> None:
    table = opened(driver)
    choose(driver, 0)
    driver.click("history-delete")
    driver.click("history-delete")
    driver.wait(lambda: driver.text_of("history-told") == "Deleted one test.")
    driver.wait(lambda: table.model().rowCount() == len(stored) - 1)
    assert driver.message() == ""
    driver.click("history-undo")
    driver.wait(lambda: table.model().rowCount() == len(stored))
    choose(driver, 0)
    driver.click("history-delete")  # a new test may reuse the number
    driver.wait(lambda: table.model().rowCount() == len(stored) - 1)
    assert driver.message() == ""


def test_what_is_laid_out_while_it_is_deleted_is_no_failure(
    driver: Driver, stored: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = opened(driver)
    deleted, laid = threading.Event(), threading.Event()
    lay, delete = queries.select_runs, queries.delete_runs

    def slow_lay(numbers: list[int]) -> queries.SelectedRuns:
        try:
            deleted.wait(DEADLINE_S)
            return lay(numbers)
        finally:
            laid.set()

    def slow_delete(numbers: list[int]) -> list[Run]:
        gone = delete(numbers)
        deleted.set()
        laid.wait(DEADLINE_S)
        return gone

    monkeypatch.setattr(queries, "select_runs", slow_lay)
    monkeypatch.setattr(queries, "delete_runs", slow_delete)
    choose(driver, 0)
    driver.click("history-delete")
    driver.wait(lambda: table.model().rowCount() == len(stored) - 1)
    assert driver.message() == ""


def test_tags_and_a_note(driver: Driver) -> None:
    table = opened(driver)
    for button, text in (("history-tags", "before-upgrade, calm"), ("history-note", "The new switch.")):
        choose(driver, 0)
        driver.click(button)
        driver.wait(lambda: driver.window.findChild(QInputDialog, "history-ask") is not None)
        dialog = driver.window.findChild(QInputDialog, "history-ask")
        assert dialog is not None
        dialog.setTextValue(text)
        dialog.accept()
        driver.wait(lambda: driver.window.findChild(QInputDialog, "history-ask") is None)
    remark = "before-upgrade  ·  calm  ·  The new switch."
    driver.wait(lambda: table.model().index(0, REMARKS).data() == remark)


def test_what_became_of_a_damaged_history_is_seen(driver: Driver) -> None:
    path = default_path()
    path.write_bytes(b"\0" * 4096 + path.read_bytes()[4096:])
    opened(driver)
    driver.wait(lambda: driver.sees("history-told"))
    told = driver.text_of("history-told")
    assert "All 4 tests that it tells of are recovered." in told
    assert "history-damaged-" in told


@pytest.mark.parametrize("kept", [True, False])
def test_it_widens_no_small_window(driver: Driver, stored: list[int], kept: bool) -> None:
    if not kept:
        queries.delete_runs(stored)
    driver.open()
    driver.window.resize(760, 560)
    QApplication.processEvents()
    assert driver.window.width() == 760
    driver.tab("History")
    count = driver.find(QLabel, "history-count")
    assert isinstance(count, QLabel)
    driver.wait(lambda: count.text().startswith("3 tests" if kept else "No test is saved for this share"))
    if kept:
        choose(driver, 0, 2)
        driver.wait(lambda: bool(said(driver, "history-ok")))
    QApplication.processEvents()
    assert driver.window.width() == 760
    assert driver.window.minimumSizeHint().width() <= 760
    assert count.height() >= count.heightForWidth(count.width())


def test_the_first_test_is_selected(driver: Driver) -> None:
    table = opened(driver)
    driver.wait(lambda: title(driver).startswith(f"Test of {SHARE_SHOWN}"))
    assert [index.row() for index in table.selectionModel().selectedRows()] == [0]
    assert driver.find(QPushButton, "history-delete").isEnabled()
    table.clearSelection()
    for name in ("history-baseline", "history-tags", "history-note", "history-delete"):
        button = driver.find(QPushButton, name)
        assert not button.isEnabled()


def test_the_table_says_what_a_cache_did() -> None:
    model = HistoryModel()
    model.show_rows(queries.find_runs("", "").rows, {})
    assert [model.index(0, column).data() for column in (SHARE, WHAT, WRITE, READ)] == [
        "zeus:/b", "One file of 64 MiB", "100 MB/s", "110 MB/s (cached)"
    ]  # fmt: skip


def test_settings_are_what_differs_from_the_defaults() -> None:
    with HistoryStore.open() as store:
        for requested in (
            {"vers": "4.2", "hard": "hard", "timeo": "600", "nconnect": "4", "_netdev": ""},
            {},
        ):
            store.add(Run(result=result(
                share="zeus:/c", requested=requested, effective={"vers": "4.2", "proto": "tcp"},
                started_at=f"2026-04-0{len(requested) + 1}T10:00:00+00:00",
            )))  # fmt: skip
    model = HistoryModel()
    page = queries.find_runs("", "zeus:/c")
    model.show_rows(page.rows, page.differences)
    assert [model.index(row, SETTINGS).data() for row in range(2)] == ["vers=4.2, nconnect=4", "Defaults"]


def test_the_day_is_told_in_words_if_it_is_near() -> None:
    noon = datetime(2026, 11, 25, 12, 0, tzinfo=UTC).astimezone().replace(hour=12)
    for days, text in ((0, "Today 12:00"), (1, "Yesterday 12:00"), (2, "2026-11-23 12:00")):
        started = (noon - timedelta(days=days)).astimezone(UTC)
        assert moment_text(started.isoformat(), noon) == text


def test_no_text_is_cut_and_a_width_of_the_user_is_remembered(driver: Driver) -> None:
    table = opened(driver)
    driver.window.resize(1240, 860)
    QApplication.processEvents()
    for column in (WHEN, WHAT, WRITE, READ):
        assert not table.isColumnHidden(column)
        assert table.columnWidth(column) >= table.sizeHintForColumn(column)
    assert table.isColumnHidden(SHARE)
    assert table.horizontalHeader().length() == table.viewport().width()
    header = table.horizontalHeader()
    place = QPoint(header.sectionViewportPosition(WHAT) + header.sectionSize(WHAT) - 1, header.height() // 2)
    before = table.columnWidth(WHAT)
    QTest.mousePress(header.viewport(), Qt.MouseButton.LeftButton, pos=place)
    QTest.mouseMove(header.viewport(), place + QPoint(30, 0))
    QTest.mouseRelease(header.viewport(), Qt.MouseButton.LeftButton, pos=place + QPoint(30, 0))
    chosen = table.columnWidth(WHAT)
    assert chosen > before
    other = HistoryTable(table.model())  # type: ignore[arg-type]
    assert other._wanted_width(WHAT) == chosen
    other.deleteLater()


def test_export_and_import(tmp_path: Path, stored: list[int]) -> None:
    for kind in EXPORT_FORMATS:
        save_runs(stored[:2], str(tmp_path / f"out.{kind}"), kind, SpeedUnit.BYTES)
    assert "compared with Run" in (tmp_path / "out.html").read_text()
    assert (tmp_path / "out.xlsx").read_bytes().startswith(b"PK")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3
    runs = queries.delete_runs(stored[:1])
    taken = queries.import_file(str(tmp_path / "out.json"))
    assert (len(taken.added), taken.known) == (1, 1)
    queries.restore_runs(runs)
    assert queries.find_runs("", "").total == 4


NOTHING_NEW = "Tests: 0 new, 0 saved before."


def test_an_import_says_what_was_new(driver: Driver, tmp_path: Path, stored: list[int]) -> None:
    with HistoryStore.open() as store, HistoryStore.open(tmp_path / "other.sqlite") as other:
        begun = other.experiment(other.start_experiment(b"{}", SHARE_SHOWN, 1))
        exported = history_to_json([store.get(stored[0]), Run(result=result())], [begun])
        more = msgspec.structs.replace(
            begun, outcomes=[TrialOutcome(levels={}, workload="", block=0, order=0)]
        )
    file = tmp_path / "other.json"
    file.write_bytes(exported)
    opened(driver)
    actions = driver.window._detail.history._actions
    for told in ("Tests: 1 new, 1 saved before. Experiments: 1 new, 0 saved before.",
                 "Tests: 0 new, 2 saved before. Experiments: 0 new, 1 saved before.",
                 (f"{NOTHING_NEW} Experiments: 0 new, 1 saved before. "
                 "Trials added to saved experiments: 1.")):  # fmt: skip
        if "Trials" in told:
            file.write_bytes(history_to_json([], [more]))
        actions.take(str(file))
        driver.wait(partial(says, driver, f"Imported other.json. {told}"))


def says(driver: Driver, told: str) -> bool:
    return driver.text_of("history-told") == told


def test_of_several_tests_only_the_options_that_differ_are_told() -> None:
    several = [result(effective={"vers": "4.2", "rsize": size}) for size in ("4096", "8192")]
    assert differing_options(several) == ["rsize=4096", "rsize=8192"]
    assert differing_options(several[:1]) == ["vers=4.2, rsize=4096"]
    assert differing_options([several[0], several[0]]) == ["", ""]


def test_lines_begin_at_the_beginning_of_each_transfer() -> None:
    runs = queries.select_runs([row.id for row in queries.find_runs("", SHARE_SHOWN).rows]).runs
    lines = overlay_lines([run.result for run in runs])
    assert [(line.place, line.way) for line in lines] == [
        (place, way) for place in range(3) for way in ("write", "read")
    ]
    assert all(0 < line.times_s[0] < 0.2 for line in lines)
