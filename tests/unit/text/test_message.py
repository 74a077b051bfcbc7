"""Messages: a sentence for every code, and formats of the values in it."""

import pytest

from advisor.bottleneck import Evidence
from advisor.message import message
from advisor.speeds import SpeedUnit
from app.experiment.model import StopReason
from app.mounts.option_changes import ChangeNote
from app.mounts.option_comparison import Difference, OptionNote
from app.service.measurements import Measurement
from app.speedtest.analysis import CombinedEvidence, Outlier, SmallReads
from app.speedtest.network_measurement import NetworkNote
from app.text.message import fill, message_text
from app.text.sentences import SENTENCES

CODES = [
    *Evidence,
    *CombinedEvidence,
    *Outlier,
    *SmallReads,
    *NetworkNote,
    *OptionNote,
    *Difference,
    *ChangeNote,
    *StopReason,
    *Measurement,
]


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    assert sorted(SENTENCES) == sorted(CODES)


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("{value:speed}", 11.8e6, "11.8 MB/s"),
        ("{value:rate}", 1e8, "100 Mbit/s"),
        ("{value:size}", 65536, "64 KiB"),
        ("{value:duration}", 0.01, "10 ms"),
        ("{value:percent}", 0.25, "25%"),
        ("{value:list}", ["a", "b"], "a, b"),
        ("{value}", "“{x}”", "“{x}”"),  # a value is not a template
        ("{value:.1f}", 2.25, "2.2"),
    ],
)
def test_formats_of_values(template: str, value: object, text: str) -> None:
    assert fill(template, {"value": value}) == text


def test_speeds_are_in_the_chosen_unit() -> None:
    assert fill("{value:speed}", {"value": 1e6}, SpeedUnit.BITS) == "8 Mbit/s"


def test_a_message_within_a_message_is_worded() -> None:
    inner = message(OptionNote.KERNEL_ROUNDED, used=4096)
    assert fill("Here: {why}", {"why": inner}) == "Here: The kernel rounded it to 4096."
    sent = {"code": "option.kernel-rounded", "params": {"used": 4096}}  # as in JSON
    assert fill("Here: {why}", {"why": sent}) == "Here: The kernel rounded it to 4096."


def test_no_message_is_no_text() -> None:
    assert message_text(None) == ""
