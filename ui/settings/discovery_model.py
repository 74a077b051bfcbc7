"""Discovery for the share field: queries with a countdown, and suggestions of servers and exports."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from app.discovery.model import DEADLINE_S
from ui.common.bridge import LatestCall
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from app.discovery.model import ExportsResult, KnownServer
    from app.errors import AppError
    from ui.common.bridge import BridgeCall

QueryState = Literal["idle", "waiting", "asking", "answered", "failed"]
#: Kind of a row in the suggestion list: a server or export, a sentence about the search, or an action.
RowKind = Literal["choice", "status", "scan", "forget"]

#: Delay between the last typed character and the query of a server, ms.
DEBOUNCE_MS = 300
#: Update interval of the countdown, ms.
_TICK_MS = 250


class PartialShare(NamedTuple):
    """A share that may be incomplete.

    Attributes:
        server: the server as typed, with the brackets of an IPv6 address.
        colon: whether the colon after the server was typed.
        export: the text after the colon.
    """

    server: str
    colon: bool
    export: str

    @property
    def host(self) -> str:
        """The server without the brackets of an IPv6 address."""
        return self.server.removeprefix("[").removesuffix("]")


class Suggestion(NamedTuple):
    """One row of the suggestion list.

    Attributes:
        label: text of the row.
        note: additional text at the right.
        text: text of the share field after the row was chosen.
        kind: server or export ("choice"), sentence ("status"), or action.
    """

    label: str
    note: str
    text: str
    kind: RowKind = "choice"


def split_share(text: str) -> PartialShare:
    """Split a share that may be incomplete; any text is accepted."""
    if text.startswith("["):
        end = text.find("]")
        if end < 0 or text[end + 1 : end + 2] != ":":
            return PartialShare(text, colon=False, export="")
        return PartialShare(text[: end + 1], colon=True, export=text[end + 2 :])
    server, colon, export = text.partition(":")
    if not server or (":" in export and not export.startswith("/")):
        # An IPv6 address without its brackets.
        return PartialShare(text, colon=False, export="")
    return PartialShare(server, colon=bool(colon), export=export)


def server_in_share(name: str) -> str:
    """Return the server as written in a share: an IPv6 address gets brackets."""
    return f"[{name}]" if ":" in name else name


class DiscoveryQuery(QObject):
    """One kind of discovery request to the agent; a new request cancels the previous one.

    Args:
        submit: sends a request to the agent of the host shown.
        verb: the agent's verb.
        make_args: returns the arguments of the verb for a server.
        parent: the Qt parent.
        clock: monotonic clock in seconds, replaceable in tests.

    Attributes:
        state: state of the request.
        server: server of the request, or "".
        result: result of an answered request, or None.
        events: progress events received before the result.
        error: error of a failed request, or None.

    Signals:
        changed: the state, the events or the countdown changed.
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
        """Whether a request is delayed or pending."""
        return self.state in {"waiting", "asking"}

    @property
    def seconds_left(self) -> int:
        """Whole seconds until the request's deadline, 0 if it has passed."""
        return max(0, math.ceil(DEADLINE_S - (self._clock() - self._began)))

    def ask(self, server: str, *, delay_ms: int = 0) -> None:
        """Send a request about a server after a delay, unless it is pending or answered already."""
        if server == self.server and self.state in {"waiting", "asking", "answered"}:
            if self.state == "waiting" and not delay_ms:
                self._start()
            return
        self._clear()
        self.server = server
        self.state = "waiting"
        if delay_ms:
            self._debounce.start(delay_ms)
            self.changed.emit()
        else:
            self._start()

    def cancel(self) -> None:
        """Cancel a pending request; an answer is kept."""
        if self.is_asking:
            self.reset()

    def reset(self) -> None:
        """Cancel a pending request, and discard the answer."""
        self._clear()
        self.changed.emit()

    def _clear(self) -> None:
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
    """Translated notes of suggestions.

    Attributes:
        everyone: for an export without a list of clients.
        export: for an export in the server's NFSv4 root.
        directory: for another directory in the server's NFSv4 root.
        known: for an export that this computer used before.
        sources: text of each source of a known server, by its key.
    """

    everyone: str
    export: str
    directory: str
    known: str
    sources: dict[str, str]


def suggestion_texts() -> SuggestionTexts:
    """Return the notes of suggestions in the language of the user."""
    return SuggestionTexts(
        everyone=tr("for everyone"),
        export=tr("export of NFS 4"),
        directory=tr("directory of NFS 4"),
        known=tr("used on this computer"),
        sources={
            "fstab": tr("in fstab"),
            "mounted": tr("mounted"),
            "mdns": tr("announced on the network"),
            "recent": tr("used recently"),
            "scan": tr("answers on the subnet"),
        },
    )


def suggest_servers(typed: str, known: Iterable[KnownServer], words: SuggestionTexts) -> list[Suggestion]:
    """Return the known servers whose names contain the typed text, those that begin with it first."""
    pattern = typed.removeprefix("[").removesuffix("]").casefold()
    suggestions = [
        Suggestion(
            server_in_share(server.name), _server_note(server, words), server_in_share(server.name) + ":"
        )
        for server in known
        if pattern in server.name.casefold() or pattern in server.calls_itself.casefold()
    ]
    return sorted(suggestions, key=lambda row: not row.label.removeprefix("[").casefold().startswith(pattern))


def _server_note(server: KnownServer, words: SuggestionTexts) -> str:
    sources = ", ".join(words.sources.get(source, source) for source in server.sources)
    # A name is shown with its address. An address is shown with the name that the server announces.
    address_or_name = server.calls_itself or (server.address if server.address != server.name else "")
    return f"{address_or_name} · {sources}" if address_or_name else sources


def suggest_exports(
    share: PartialShare, result: ExportsResult | None, known: Iterable[KnownServer], words: SuggestionTexts
) -> list[Suggestion]:
    """Return the exports that contain the typed text: from MOUNT's list, the NFSv4 root, and earlier use."""
    notes: dict[str, str] = {}
    for export in (result.exports or []) if result is not None else []:
        notes[export.path] = ", ".join(export.clients) or words.everyone
    for entry in (result.root or []) if result is not None else []:
        notes.setdefault(entry.path, entry.note or (words.export if entry.export else words.directory))
    for server in known:
        if server.name.casefold() == share.host.casefold():
            for path in server.exports:
                notes.setdefault(path, words.known)
    pattern = share.export.casefold()
    paths = [path for path in notes if pattern in path.casefold()]
    paths.sort(key=lambda path: not path.casefold().startswith(pattern))
    server_part = server_in_share(share.host)
    return [Suggestion(path, notes[path], f"{server_part}:{path}") for path in paths]
