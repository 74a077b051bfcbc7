"""Fake counter reader without a mount: its counters are 0 or set by a test."""

from app.speedtest.sampler import CounterReader, TransferCounters


class FakeCounterReader(CounterReader):
    """Counter reader whose values a test sets."""

    def __init__(self, *, tcp: bool) -> None:
        super().__init__(None)
        self.nfs = True
        self._has_tcp = tcp
        self.now = TransferCounters()

    @property
    def tcp(self) -> bool:
        return self._has_tcp

    def look(self) -> TransferCounters:
        return self.now
