"""Serial line to a guest: long requests arrive complete in both directions at once, under load."""

import queue
import random
import string
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from lab_verbs import EchoArgs

from app.errors import AppError, ErrorKind
from app.stats.model import SpeedsArgs, SpeedsSample

if TYPE_CHECKING:
    from lab_guest import LabGuest

#: The old line stopped for good at the second of such requests (tests/benchmarks/lab_line.py).
SIZES = (1_000, 400_000, 30_000, 150_000, 4_096, 400_000, 2_048, 90_000)


@pytest.fixture
def busy() -> Iterator[None]:
    """Four processes that compute all the time."""
    loops = [subprocess.Popen([sys.executable, "-ISc", "while True: pass"]) for _ in range(4)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def test_long_requests_and_answers_arrive_whole_beside_other_load(lab: "LabGuest", busy: None) -> None:
    chance = random.Random(1)
    samples: queue.Queue[SpeedsSample] = queue.Queue()
    watching = lab.submit("stats.speeds", SpeedsArgs(), samples.put)
    texts = ["".join(chance.choices(string.printable + "äöü€\0", k=size)) for size in SIZES]
    calls = [lab.submit("lab.echo", EchoArgs(text=text)) for text in texts]
    for text, call in zip(texts, calls, strict=True):
        assert call.result().text == text
    lab.next(samples, "a sample of the speeds")
    watching.cancel()
    with pytest.raises(AppError) as ended:
        watching.result()
    assert ended.value.kind is ErrorKind.CANCELLED
