"""A probe without a mount."""

from app.bench.probe import Look, Probe


class FakeProbe(Probe):
    """Counters that a test sets."""

    def __init__(self, *, tcp: bool) -> None:
        super().__init__(None)
        self.nfs = True
        self._has_tcp = tcp
        self.now = Look()

    @property
    def tcp(self) -> bool:
        return self._has_tcp

    def look(self) -> Look:
        return self.now
