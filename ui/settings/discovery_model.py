"""Discovery for the share field: one query at a time with its countdown, and suggestions."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from app.discovery.model import DEADLINE_S
from ui.common.bridge import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from app.discovery.model import ExportsResult, KnownServer
    from app.errors import AppError
    from ui.common.bridge import BridgeCall

QueryState = Literal["idle", "waiting", "asking", "answered", "failed"]
#: What a row is: something to choose, a sentence about the search, or something to do.
RowKind = Literal["choice", "status", "scan", "forget"]

#: A server is asked this long after the last letter.
DEBOUNCE_MS = 300
_TICK_MS = 250


class PartialShare(NamedTuple):
    """A share as far as it is typed: ``server``, as it is spelled, ``colon`` and ``export`` make the text."""

    server: str
    colon: bool
    export: str

    @property
    def host(self) -> str:
        """The server without brackets."""
        return self.server.removeprefix("[").removesuffix("]")


class Suggestion(NamedTuple):
    """One row of the list: what is shown, what is said of it, what the field becomes, and what it is."""

    label: str
    note: str
    text: str
    kind: RowKind = "choice"


def split_share(text: str) -> PartialShare:
    """Return the parts of a share that may not be finished; nothing is refused."""
    if text.startswith("["):
        end = text.find("]")
        if end < 0 or text[end + 1 : end + 2] != ":":
            return PartialShare(text, colon=False, export="")
        return PartialShare(text[: end + 1], colon=True, export=text[end + 2 :])
    server, colon, export = text.partition(":")
    if not server or (":" in export and not export.startswith("/")):
        # An IPv6 address that still lacks its brackets.
        return PartialShare(text, colon=False, export="")
    return PartialShare(server, colon=bool(colon), export=export)


def server_in_share(name: str) -> str:
    """Return the server as a share spells it: an IPv6 address stands in brackets."""
    return f"[{name}]" if ":" in name else name


class DiscoveryQuery(QObject):
    """Asks a host's agent one question; a newer question cancels the older one and drops its answer.

    Args:
        submit: sends a request to the host shown.
        verb: of the agent.
        make_args: its arguments for a server.
        parent: its owner.
        clock: seconds that only grow; tests give their own.

    Signals:
        changed: the state, or the countdown.
    """

    changed = Signal()

    def __init__(
        self,
        submit: Callable[[str, Any], BridgeCall],
        verb: str,
        make_args: Callable[[str], Any],
        parent: QObject,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._call = LatestCall(submit)
        self._verb = verb
        self._make_args = make_args
        self._clock = clock
        self._began = 0.0
        self.state: QueryState = "idle"
        self.server = ""
        self.result: Any = None
        #: What came before the result.
        self.events: list[Any] = []
        self.error: AppError | None = None
        self._debounce = QTimer(self)
        self._debounce.setSingleShot(True)
        self._debounce.timeout.connect(self._start)
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self.changed)

    @property
    def is_asking(self) -> bool:
        """Whether an answer is waited for."""
        return self.state in {"waiting", "asking"}

    @property
    def seconds_left(self) -> int:
        """Whole seconds until the deadline, 0 if it has passed."""
        return max(0, math.ceil(DEADLINE_S - (self._clock() - self._began)))

    def ask(self, server: str, *, delay_ms: int = 0) -> None:
        """Ask about this server, unless that is under way or answered already."""
        if server == self.server and self.state in {"waiting", "asking", "answered"}:
            if self.state == "waiting" and not delay_ms:
                self._start()
            return
        self._drop()
        self.server = server
        self.state = "waiting"
        if delay_ms:
            self._debounce.start(delay_ms)
            self.changed.emit()
        else:
            self._start()

    def cancel(self) -> None:
        """Stop asking; what was answered stays."""
        if self.is_asking:
            self.reset()

    def reset(self) -> None:
        """Stop asking, and forget the answer."""
        self._drop()
        self.changed.emit()

    def _drop(self) -> None:
        self._debounce.stop()
        self._tick.stop()
        self.state, self.server, self.result, self.error, self.events = "idle", "", None, None, []
        self._call.cancel()

    def _start(self) -> None:
        self._debounce.stop()
        self._began = self._clock()
        args = self._make_args(self.server)
        if self._call.ask(self._verb, args, self._on_answer, self._on_failed, self._on_event):
            self.state = "asking"
            self._tick.start()
            self.changed.emit()

    def _on_event(self, event: Any) -> None:
        self.events.append(event)
        self.changed.emit()

    def _on_answer(self, result: Any) -> None:
        self._end("answered", result=result)

    def _on_failed(self, error: AppError) -> None:
        self._end("failed", error=error)

    def _end(self, state: QueryState, *, result: Any = None, error: AppError | None = None) -> None:
        self._tick.stop()
        self.state, self.result, self.error = state, result, error
        self.changed.emit()


class SuggestionTexts(NamedTuple):
    """What is said of a suggestion, translated."""

    everyone: str
    export: str
    directory: str
    known: str
    sources: dict[str, str]


def suggest_servers(typed: str, known: Iterable[KnownServer], words: SuggestionTexts) -> list[Suggestion]:
    """Return the known servers that contain what is typed, those that begin with it first."""
    wanted = typed.removeprefix("[").removesuffix("]").casefold()
    found = [
        Suggestion(server_in_share(server.name), _note_of(server, words), server_in_share(server.name) + ":")
        for server in known
        if wanted in server.name.casefold() or wanted in server.calls_itself.casefold()
    ]
    return sorted(found, key=lambda row: not row.label.removeprefix("[").casefold().startswith(wanted))


def _note_of(server: KnownServer, words: SuggestionTexts) -> str:
    sources = ", ".join(words.sources.get(source, source) for source in server.sources)
    # Beside a name its address, beside an address the name that is not known here.
    other = server.calls_itself or (server.address if server.address != server.name else "")
    return f"{other} · {sources}" if other else sources


def suggest_exports(
    share: PartialShare, result: ExportsResult | None, known: Iterable[KnownServer], words: SuggestionTexts
) -> list[Suggestion]:
    """Return the exports that contain what is typed: listed, seen in version 4's root, and known."""
    notes: dict[str, str] = {}
    for export in (result.exports or []) if result is not None else []:
        notes[export.path] = ", ".join(export.clients) or words.everyone
    for entry in (result.root or []) if result is not None else []:
        notes.setdefault(entry.path, entry.note or (words.export if entry.export else words.directory))
    for server in known:
        if server.name.casefold() == share.host.casefold():
            for path in server.exports:
                notes.setdefault(path, words.known)
    wanted = share.export.casefold()
    paths = [path for path in notes if wanted in path.casefold()]
    paths.sort(key=lambda path: not path.casefold().startswith(wanted))
    server_part = server_in_share(share.host)
    return [Suggestion(path, notes[path], f"{server_part}:{path}") for path in paths]
