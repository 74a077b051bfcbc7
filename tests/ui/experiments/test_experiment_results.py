"""Results of an experiment: tables, charts, and excluded option sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiment_steps import plan_first_recipe, show_studies
from fake_experiments import PLAN, SETS
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QTableView, QTableWidget

from advisor.experiment.conclusions import SearchConclusion, SetEstimate
from advisor.experiment.tables import CurvePoint, FactorCurve, Matrix
from advisor.speeds import SpeedUnit
from app.experiment.model import BestSettings, ExcludedSet
from ui.common.figure_text import interval_with_unit
from ui.common.speed_units import SPEED_UNITS
from ui.experiments.charts import HeatMap
from ui.experiments.plan_view import ExcludedLevels
from ui.experiments.ranking import TIMEOUTS, SearchResultTable

if TYPE_CHECKING:
    import pytest
    from driver import Driver
    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot


def test_what_each_level_does_stands_in_a_table(driver: Driver) -> None:
    plan_first_recipe(driver)
    driver.click("experiment-start")
    driver.wait(lambda: driver.sees("experiment-statistics"))
    assert not driver.sees("experiment-effects")  # the statistics section is closed at first
    driver.click("experiment-statistics")
    driver.wait(lambda: driver.sees("experiment-effects"))
    table = driver.find(QTableWidget, "experiment-effects")
    assert isinstance(table, QTableWidget)
    rows = [[item.text() for column in range(5) if (item := table.item(row, column)) is not None]
            for row in range(table.rowCount())]  # fmt: skip
    assert [row[:2] for row in rows] == [
        ["Read size", "8 KiB"], ["", "64 KiB"], ["", "1 MiB"], ["Connections", "1"], ["", "4"],
    ]  # fmt: skip
    assert rows[2][3:] == ["21", "3.5"]
    best = table.item(2, 3)
    assert best is not None
    assert best.font().bold()
    ranking = driver.find(QTableView, "experiment-ranking")
    assert isinstance(ranking, QTableView)
    assert ranking.isColumnHidden(TIMEOUTS)
    for shown in (table, ranking):
        model = shown.model()
        for column in range(model.columnCount()):
            title = model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.TextAlignmentRole)
            text = model.index(0, column).data(Qt.ItemDataRole.TextAlignmentRole)
            right = Qt.AlignmentFlag.AlignRight
            assert bool(int(title) & right) == bool(int(text or 0) & right), "a title stands over its texts"


def test_pictures_are_not_those_of_the_run_before(driver: Driver, fake: FakeHost) -> None:
    plan_first_recipe(driver)
    driver.click("experiment-start")
    driver.wait(lambda: driver.sees("experiment-chart-section"))
    driver.click("experiment-chart-section")
    driver.wait(lambda: driver.sees("experiment-pictures"))
    show_studies(driver)
    driver.click("experiment-plan")
    driver.wait(lambda: driver.sees("experiment-start"))
    assert not driver.sees("experiment-pictures")
    fake.hold.clear()
    fake.over = 1
    driver.click("experiment-start")
    driver.wait(lambda: "Trial 2 of 18" in driver.text_of("experiment-progress"))
    driver.wait(lambda: driver.sees("experiment-chart"))
    assert not driver.sees("experiment-pictures")
    assert not driver.sees("experiment-effects")
    fake.hold.set()
    driver.wait(lambda: driver.sees("experiment-pictures"))


def test_levels_that_are_struck_out_for_one_reason_stand_together(qtbot: QtBot) -> None:
    shown = ExcludedLevels()
    qtbot.addWidget(shown)
    pair = ExcludedSet(levels={"record_size": "16384", "file_size": "4096"}, reason="Too large.")
    one, other = (
        ExcludedSet(levels={"server_threads": level}, reason="The server's.") for level in ("8", "32")
    )
    shown.show_excluded([one, pair, other])
    texts = [label.text() for label in shown.findChildren(QLabel)]
    assert texts == [
        "Server threads: 8, 32", "The server's.", "Record size: 16 KiB, File size: 4 KiB", "Too large.",
    ]  # fmt: skip


def test_a_heat_map_of_time_outs_is_strongest_where_there_are_none(qtbot: QtBot) -> None:
    cells: list[list[float | None]] = [[0.0, 10.0], [11.0, None]]
    matrix = Matrix(
        figure="timeouts", workload="w", fixed={}, row_factor="rsize", column_factor="nconnect",
        rows=["4096", "8192"], columns=["1", "4"], cells=cells, repeats=[[3, 3], [3, 0]], differs=True,
    )  # fmt: skip
    heat = HeatMap()
    qtbot.addWidget(heat)
    heat.show_matrix(matrix)
    shades = [
        item.background().color().lightness()
        for row, column in ((0, 0), (0, 1), (1, 0))
        if (item := heat.item(row, column)) is not None
    ]
    paper = heat.palette().base().color().lightness()
    # Regression: the background was black like the text.
    assert abs(shades[0] - paper) > abs(shades[1] - paper) == abs(shades[2] - paper) == 0
    assert abs(shades[0] - paper) < 128


def test_a_curve_has_time_outs_beside_its_levels(qtbot: QtBot) -> None:
    from ui.plots.factor_plot import FactorPlot

    points = [
        CurvePoint(level=level, values=[1e7], mean=1e7, median=1e7, low=9e6, high=2e7, timeouts=count,
                   retransmissions=0)
        for level, count in (("7", 2.5), ("600", 0))
    ]  # fmt: skip
    plot = FactorPlot()
    qtbot.addWidget(plot)
    plot.draw(FactorCurve(factor="timeo", figure="write", workload="w", points=points, best=None))
    (ticks,) = plot._item.getAxis("bottom")._tickLevels
    assert [text for _place, text in ticks] == ["0.7 s\ntimeouts: 2.5", "60 s\ntimeouts: 0"]
    plot.grab()


def test_the_answer_of_a_search_follows_the_unit(qtbot: QtBot, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(lambda: SPEED_UNITS.choose(SpeedUnit.BYTES))
    one, other = (
        SetEstimate(
            levels=SETS[place].levels,
            values=[speed] * 2,
            median=speed,
            low=speed * 0.9,
            high=speed * 1.1,
            method="model",
        )
        for place, speed in ((4, 110e6), (0, 20e6))
    )
    answer = SearchConclusion(
        winner=one,
        runner_up=other,
        default=None,
        current=None,
        decided=True,
        trials=18,
        tried=6,
        candidates=6,
    )
    result = BestSettings(plan=PLAN, answer=answer, options="", read_ahead_kb=None)
    table = SearchResultTable()
    qtbot.addWidget(table)
    table.show_result(result)
    assert not table.selectionModel().hasSelection()
    table.selectRow(1)
    SPEED_UNITS.choose(SpeedUnit.BITS)
    table.show_result(result)
    speed = table.item(0, 1)
    assert speed is not None
    assert speed.text() == "880 Mbit/s"
    assert [index.row() for index in table.selectionModel().selectedRows()] == [1]


def test_an_interval_has_its_unit_once() -> None:
    assert interval_with_unit("write", 46.7e6, 119e6) == "46.7 – 119 MB/s"  # noqa: RUF001 - the sign
    assert interval_with_unit("write", 800e3, 1.2e6) == "800 kB/s – 1.2 MB/s"  # noqa: RUF001
    assert interval_with_unit("timeouts", 1.0, 3.0) == "1 – 3"  # noqa: RUF001
