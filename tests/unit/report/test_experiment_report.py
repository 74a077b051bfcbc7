"""Export of an experiment: CSV, Excel workbook and HTML report."""

import csv
import io
import re
import xml.etree.ElementTree as ET
import zipfile
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_experiment import experiment
from search_world import search, told, world

from advisor.speeds import SpeedUnit
from app.errors import AppError, ErrorKind
from app.experiment.model import ExperimentPlan, OptionSet
from app.report.experiment_report import experiment_to_html
from app.report.tables import csv_text, experiment_table, trials_table
from app.report.xlsx import tables_to_xlsx

_CELL = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def read(raw: bytes, number: int = 1) -> list[list[Any]]:
    """Return the values of a worksheet."""
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        assert file.testzip() is None
        for name in file.namelist():
            ET.fromstring(file.read(name))
        sheet = ET.fromstring(file.read(f"xl/worksheets/sheet{number}.xml"))
    rows: list[list[Any]] = []
    for row in sheet.iter(f"{_CELL}row"):
        cells: list[Any] = []
        for cell in row:
            kind, text = cell.get("t"), "".join(cell.itertext())
            cells.append(text if kind == "inlineStr" else bool(int(text)) if kind == "b" else
                         float(text) if text else None)  # fmt: skip
        rows.append(cells)
    return rows


@pytest.mark.parametrize("unit", SpeedUnit)
def test_speeds_have_the_chosen_unit(unit: SpeedUnit) -> None:
    html = experiment_to_html(experiment(), unit)
    assert {other for other in ("MB/s", "MiB/s", "Mbit/s") if other in html} == {str(unit)}


def test_csv_has_the_raw_trials() -> None:
    one = experiment()
    table = trials_table(one)
    lines = list(csv.DictReader(io.StringIO(csv_text(table), newline="")))
    assert len(lines) == len(one.outcomes) == 36
    assert [line["order"] for line in lines] == [str(place) for place in range(36)]
    assert float(lines[0]["write"]) == one.outcomes[0].figures["write"]
    assert (lines[3]["state"], lines[3]["write"]) == ("failed", "")
    assert lines[3]["note"] == "'=The <server> did not answer."
    assert lines[0]["in_use"].endswith(",hard")


def test_the_workbook_has_trials_and_environment() -> None:
    one = experiment()
    raw = tables_to_xlsx({"Trials": trials_table(one), "About & more": experiment_table(one)})
    trials, about = read(raw, 1), read(raw, 2)
    assert len(trials) == 37
    assert trials[0][:5] == ["order", "block", "workload", "baseline", "state"]
    assert trials[1][8] == one.outcomes[0].figures["write"]
    assert trials[4][-1] == "=The <server> did not answer."
    assert ["host", "desk"] in about
    assert ["seed", 5.0] in about
    assert raw == tables_to_xlsx({"Trials": trials_table(one), "About & more": experiment_table(one)})


cells = st.none() | st.booleans() | st.text(max_size=30) | st.integers(-(2**40), 2**40) | st.floats()


@settings(max_examples=40)
@given(st.lists(st.lists(cells, max_size=4), min_size=1, max_size=4))
def test_any_cells_make_a_workbook(rows: list[list[Any]]) -> None:
    for now, then in zip(read(tables_to_xlsx({"x" * 40: rows})), rows, strict=True):
        assert len(now) == len(then)
        for found, value in zip(now, then, strict=True):
            if isinstance(value, (bool, int)):
                assert found == value


def test_the_report_has_the_conclusions() -> None:
    html = experiment_to_html(experiment())
    for drawing in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ET.fromstring(drawing)
    for banned in ("http:", "https:", "src=", "<script", "url(", "<link"):
        assert banned not in html
    for words in (
        "<h1>Sizes &amp; connections</h1>",
        "35 of 36 trials done",
        "host desk; kernel 6.1",
        "one file: Speed to the server",
        "No significant difference",
        "rsize: 1048576 is best",
        "1 trial failed",
        "=The &lt;server&gt; did not answer.",
        "rsize=8388608: The kernel takes 1048576 at most.",
        'class="heat"',
        "<th>Sum of places</th>",
    ):
        assert words in html
    assert html.count("<svg") >= 4


def test_levels_are_compared_once_for_the_figure_of_each_section() -> None:
    one = experiment()
    plan = msgspec.json.decode(one.spec, type=ExperimentPlan)
    asked = msgspec.structs.replace(plan.experiment, factors=plan.experiment.factors[:1])
    sets = [OptionSet(levels={"rsize": size}, options="") for size in asked.factors[0].levels]
    spec = msgspec.Raw(msgspec.json.encode(msgspec.structs.replace(plan, experiment=asked, sets=sets)))
    outcomes = [
        msgspec.structs.replace(outcome, levels={"rsize": outcome.levels["rsize"]})
        for outcome in one.outcomes
    ]
    html = experiment_to_html(msgspec.structs.replace(one, spec=spec, outcomes=outcomes))
    for label in ("speed to the server", "speed from the server", "time to unmount"):
        assert html.count(f"one file, {label}: 65536 ") == 1


def test_a_search_has_no_planned_number_of_trials() -> None:
    one = experiment()
    plan = msgspec.structs.replace(msgspec.json.decode(one.spec, type=ExperimentPlan), trials=0)
    html = experiment_to_html(msgspec.structs.replace(one, spec=msgspec.Raw(msgspec.json.encode(plan))))
    assert ": 35 trials done, in the random order" in html


def test_a_level_with_cached_reads_only() -> None:
    one = experiment()
    plan = msgspec.json.decode(one.spec, type=ExperimentPlan)
    asked = msgspec.structs.replace(plan.experiment, strategy="one-at-a-time")
    outcomes = [
        msgspec.structs.replace(outcome, figures={k: v for k, v in outcome.figures.items() if k != "read"})
        if outcome.levels["rsize"] == "262144"
        else outcome
        for outcome in one.outcomes
    ]
    spec = msgspec.Raw(msgspec.json.encode(msgspec.structs.replace(plan, experiment=asked)))
    html = experiment_to_html(msgspec.structs.replace(one, spec=spec, outcomes=outcomes))
    assert "one file: Speed from the server" in html
    assert "12 trials have no figure here" in html


def test_an_experiment_without_trials() -> None:
    html = experiment_to_html(msgspec.structs.replace(experiment(), outcomes=[]))
    assert "0 of 36 trials done" in html


def test_an_unreadable_plan_is_an_error() -> None:
    with pytest.raises(AppError) as caught:
        experiment_to_html(msgspec.structs.replace(experiment(), spec=msgspec.Raw(b"{}")))
    assert caught.value.kind is ErrorKind.IO


def test_the_report_of_a_search_has_the_result_of_its_retest() -> None:
    simulated_host = world()
    _result, events = search(simulated_host, options="nconnect=4")
    plan, outcomes = told(events)
    one = msgspec.structs.replace(
        experiment(), spec=msgspec.Raw(msgspec.json.encode(plan)), outcomes=outcomes
    )
    html = experiment_to_html(one)
    assert "faster than the present setting, tested again." in html
    assert "Tested again in 6 rounds, in turns" in html
    searched = msgspec.structs.replace(one, outcomes=[each for each in outcomes if not each.retest])
    assert "Nothing is proven: the winner was not tested again." in experiment_to_html(searched)
