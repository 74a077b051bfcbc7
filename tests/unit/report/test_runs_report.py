"""HTML report of runs: one well-formed file without external resources."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_results import grid, result

from advisor.bottleneck import Bottleneck
from advisor.speeds import SpeedUnit, format_speed
from app.history.model import Run
from app.report.runs_report import runs_to_html
from app.report.svg_plot import PlotCurve, PlotStrip, curve_plot, strip_plot

FAST = [100e6, 101e6, 99e6, 100.5e6, 98e6, 102e6]
SLOW = [60e6, 61e6, 59e6, 60.5e6, 58e6, 62e6]
_VOID = {"meta", "circle", "path", "polyline", "br"}


class Balance(HTMLParser):
    """Parser that checks the nesting of elements and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def text_of(html: str) -> str:
    reader = Balance()
    reader.feed(html)
    assert reader.open == []
    for drawing in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ET.fromstring(drawing)
    for banned in ("http:", "https:", "src=", "<script", "url(", "@import", "<link"):
        assert banned not in html
    assert "default-src 'none'" in html
    return " ".join(reader.words)


def a_run(number: int, *, cached: bool = False, **changes: object) -> Run:
    values = changes.pop("values", FAST)
    assert isinstance(values, list)
    found = result(values, FAST, samples=100, cached=cached, started_at=f"2026-03-{number:02}T10:00:00+00:00")
    return Run(result=found, id=number, **changes)  # type: ignore[arg-type]


def test_two_runs_are_plotted_and_compared() -> None:
    html = runs_to_html(
        [a_run(2, values=SLOW, note="<b>New</b> & slow"), a_run(1, tags=("before",), baseline=True)]
    )
    text = text_of(html)
    assert html.count("<svg") == 4
    assert html.count('<polyline class="line') == 4
    assert "Run 2 compared with Run 1" in text
    assert "To the server 40 % slower" in text
    assert "From the server no significant difference" in text
    assert "<b>New</b> & slow" in text  # escaped
    for word in ("before", "baseline", "rsize=65536", "nas:/home", "host desk", "97 %", "Dropped."):
        assert word in text


@pytest.mark.parametrize("unit", SpeedUnit)
def test_speeds_have_the_chosen_unit(unit: SpeedUnit) -> None:
    html = runs_to_html([a_run(2, values=SLOW), a_run(1)], unit=unit)
    assert {other for other in ("MB/s", "MiB/s", "Mbit/s") if other in html} == {str(unit)}
    assert format_speed(100.25e6, unit) in text_of(html)  # the median, not the rounded one in MB/s


def test_a_cached_read_is_noted_and_not_plotted() -> None:
    html = runs_to_html([a_run(1), a_run(2, cached=True), a_run(3)])
    assert html.count('<polyline class="line') == 5
    assert "110 MB/s (cached)" not in html
    assert "100 MB/s (cached)" in (text := text_of(html))
    assert "is left out" in text


def test_only_the_first_runs_are_plotted() -> None:
    runs = [a_run(number) for number in range(1, 16)]
    text = text_of(runs_to_html(runs))
    assert "The first 12 of 15 are drawn." in text
    assert "Run 15: nas:/home" in text
    lines = re.findall(r'<polyline class="line (c\d)"( stroke-dasharray="[^"]*")?', runs_to_html(runs))
    assert len(set(lines)) == 12  # each run has one style, the same in both plots


def test_a_report_without_runs() -> None:
    assert "0 tests" in text_of(runs_to_html([]))


def test_a_run_without_samples_or_environment() -> None:
    bare = result(write=None, figures={}, environment=None, requested={}, effective={}, link=None, cache=None)
    text = text_of(runs_to_html([Run(result=bare, origin="<other>.json")]))
    assert "Where it ran is not known." in text
    assert "Imported from <other>.json." in text


numbers = st.floats(0, 1e12)


@settings(max_examples=40)
@given(st.text(max_size=20), st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5))
def test_any_numbers_and_names_can_be_plotted(name: str, points: list[tuple[float, float]]) -> None:
    name = "".join(sign for sign in name if sign.isprintable())
    found = ET.fromstring(
        curve_plot(name, "s", "MB/s", [PlotCurve(name, points, place) for place in range(15)])
    )
    box = [float(word) for word in found.attrib["viewBox"].split()]
    for line in found.iter("polyline"):
        for pair in line.attrib["points"].split():
            x, y = (float(word) for word in pair.split(","))
            assert 0 <= x <= box[2]
            assert 0 <= y <= box[3]
    values = [y for _, y in points]
    ET.fromstring(strip_plot(name, "MB/s", [PlotStrip(name, values, values[0], min(values), max(values))]))


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-12, 1e300])
def test_extreme_numbers_have_an_axis(value: float) -> None:
    ET.fromstring(curve_plot("t", "s", "MB/s", [PlotCurve("a", [(0, value), (value, 0)])]))


def test_ticks_are_round() -> None:
    drawing = curve_plot("t", "s", "MB/s", [PlotCurve("a", [(0, 0), (9.7, 113)])])
    labels = [item.text for item in ET.fromstring(drawing).iter("text")]
    assert {"20", "40", "120", "2", "10"} <= set(labels)


@pytest.mark.parametrize("drawing", [curve_plot("t", "s", "MB/s", []), strip_plot("t", "MB/s", [])])
def test_a_plot_without_data_is_empty(drawing: str) -> None:
    assert drawing == ""


def test_a_grid_is_described_by_its_cells() -> None:
    text = text_of(runs_to_html([Run(result=grid(1000), id=1)]))
    assert "fio, 2 cells" in text
    assert "randread of 4 KiB, 1 job, 4 at once 1002 4.1 MB/s 1 ms — 6" in text


def test_bottleneck_and_uses_are_in_the_report() -> None:
    run = a_run(1)
    held = Bottleneck(kind="network", evidence=["The link was full."], confidence="high")
    with_bottleneck = msgspec.structs.replace(run.result, bottleneck=held, enough=["Video: 4 films at once."])
    text = text_of(runs_to_html([msgspec.structs.replace(run, result=with_bottleneck)]))
    assert "held back by the network (high confidence). The link was full." in text
    assert "Enough for video: 4 films at once." in text
