"""In-memory host for tests: mounts, their server, and a helper that fails at chosen requests."""

import contextlib
import hashlib
import itertools
import select
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from app.errors import AppError, ErrorKind
from app.helper import fstab_text, fstab_writer, readahead_rule, unit_writer
from app.helper.errors import Refusal
from app.helper.fstab_writer import FstabWriter
from app.helper.options import ALWAYS
from app.helper.unit_writer import UnitWriter
from app.helper_client.client import explain_refusal
from app.kernel.nfsmount_conf import added_to
from app.mounts import systemd_units
from app.mounts.actions import MountActions
from app.mounts.apply import ChangeRunner
from app.mounts.change_model import ApplyArgs, ApplyEvent, ApplyReport
from app.mounts.config_store import ConfigStore
from app.mounts.fstab_store import FstabStore
from app.mounts.interrupted_changes import ChangeRecords
from app.mounts.model import Active, Configured, Holder, Mount, MountTable
from app.mounts.plan import HostView
from app.mounts.requested_options import with_requested_options
from app.mounts.saved_readahead import (
    ReadaheadRule,
    ReadaheadStore,
    read_rule,
    read_saved_readaheads,
    with_saved_readahead,
)
from app.mounts.unit_store import UnitStore
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.model import MountState

SHARE = "nas:/a"
POINT = "/mnt/a"
LIVE = "vers=4.2,nosuid,nodev"
FSTAB = b"# head\nnas:/a\t/mnt/a   nfs vers=4.2,x-gvfs-show 0 0\n\xff broken"
HOLDER = {"pid": 1, "uid": 0, "command": "init", "use": "open file", "user": "root"}


def ask(**changes: Any) -> ApplyArgs:
    return ApplyArgs(**{"share": SHARE, "mount_point": POINT, **changes})


#: Classes of changes: whether the share is mounted before, the request, and the helper's verbs in order.
CLASSES: dict[str, tuple[bool, ApplyArgs, list[str]]] = {
    "new": (False, ask(share="nas:/b", mount_point="/mnt/b", options="vers=4.2"), ["try", "mount"]),
    "new-kept": (
        False,
        ask(share="nas:/b", mount_point="/mnt/b", options="vers=4.2,nofail,nosuid,nodev", keeper="fstab",
            read_ahead_kb=1024),
        ["try", "add", "mount", "tune"],
    ),
    "kept-only": (False, ask(options="vers=4.1,_netdev", keeper="fstab", mount=False), ["change"]),
    "live": (True, ask(options="vers=4.2", read_ahead_kb=4096), ["tune"]),
    "remount": (True, ask(options="vers=4.2,ro,noexec", keeper="fstab"), ["change", "remount"]),
    "mount": (
        True,
        ask(options="vers=4.2,nconnect=4", keeper="fstab"),
        ["try", "change", "unmount", "mount", "tune"],
    ),
    "mount-tuned": (True, ask(options="vers=4.1", read_ahead_kb=64), ["try", "unmount", "mount", "tune"]),
    "moved": (
        True,
        ask(mount_point="/mnt/z", options="vers=4.2", replaces=POINT, keeper="fstab"),
        ["try", "change", "unmount", "mount", "tune"],
    ),
    "units": (
        False,
        ask(options="vers=4.2,nofail,nosuid,nodev", keeper="systemd"),
        ["try", "unit-write", "mount"],
    ),
    "units-live": (
        True,
        ask(options="vers=4.1,x-systemd.automount,x-systemd.idle-timeout=60", keeper="systemd"),
        ["try", "unit-write", "unmount", "mount", "tune"],
    ),
    "saved": (
        True, ask(options="vers=4.2", read_ahead_kb=4096, save_read_ahead=True), ["tune", "readahead-save"],
    ),
    "saved-as-it-is": (True, ask(options="vers=4.2", save_read_ahead=True), ["readahead-save"]),
    "saved-new": (
        False,
        ask(options="vers=4.2", read_ahead_kb=1024, save_read_ahead=True),
        ["try", "mount", "tune", "readahead-save"],
    ),
    "saved-only": (
        False,
        ask(options="vers=4.1,_netdev", keeper="fstab", mount=False, read_ahead_kb=64, save_read_ahead=True),
        ["change", "readahead-save"],
    ),
    "saved-again": (
        True,
        ask(options="vers=4.1", keeper="fstab", read_ahead_kb=64, save_read_ahead=True),
        ["try", "change", "unmount", "mount", "tune", "readahead-save"],
    ),
    "other-share": (True, ask(share="nas:/other", options="vers=4.2"), ["try", "unmount", "mount", "tune"]),
}  # fmt: skip


class Waits:
    cancelled = False

    def wait(self, fds: Any, timeout_s: float) -> set[int]:
        return set(select.select(list(fds), [], [], timeout_s)[0])


class MemoryHost:
    """In-memory host whose mounts, fstab, units and rules a change modifies.

    Attributes:
        live: live mounts by mount point.
        calls: verbs of the requests to the helper, in order.
        fail: requests that fail: verb, number of the request with this verb, and whether it fails "before" or
            "after" its effect.
        busy: number of unmounts that fail because programs use the mount.
        silent: whether the server does not answer.
    """

    def __init__(self, folder: Path, *, mounted: bool, fstab: bytes = FSTAB) -> None:
        self.root = folder
        self.path = folder / "fstab"
        self.path.write_bytes(fstab)
        self.live: dict[str, Active] = {}
        self.calls: list[str] = []
        self.fail: list[tuple[str, int, str]] = []
        self.busy = 0
        self.silent = False
        self.events: list[ApplyEvent] = []
        self.on_event: Callable[[ApplyEvent], None] = lambda _event: None
        self.token = CancelToken()
        self._ids = 100
        self._requested: dict[int, str] = {}
        self.units = folder / "etc/systemd/system"
        self.units.mkdir(parents=True)
        self.records = ChangeRecords(self.temporaries())
        self._units = UnitWriter(str(self.units), str(folder / "unit-backups"))
        self._writer = FstabWriter(str(folder), str(folder / "backups"))
        if mounted:
            self.mount(SHARE, POINT, LIVE.split(","))
            self._requested[self._ids] = LIVE
            self.tune(POINT, 512)

    # The helper.

    def call(self, verb: str, args: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        token.check()
        self.calls.append(verb)
        number = self.calls.count(verb)
        if (verb, number, "before") in self.fail:
            raise AppError(ErrorKind.MOUNT_FAILED, "It failed.", hint="Mend it.", detail="raw")
        answer = self._do(verb, args)
        if (verb, number, "after") in self.fail:
            raise AppError(ErrorKind.HELPER_FAILED, "The answer was lost.")
        return answer

    def close(self) -> None:
        pass

    def _do(self, verb: str, args: dict[str, Any]) -> dict[str, Any]:
        if verb in {"add", "change", "remove", "restore", "unit-write", "unit-remove"}:
            writer: Any = self._units if verb.startswith("unit-") else self._writer
            try:
                return cast("dict[str, Any]", getattr(writer, verb.removeprefix("unit-"))(args, Waits()))
            except Refusal as refusal:
                raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal
        if verb == "mount":
            return self.mount(args["share"], args["target"], args["options"].split(","))
        if verb == "unmount":
            if self.busy and not args["lazy"]:
                self.busy -= 1
                raise AppError(ErrorKind.BUSY, "It is in use.")
            del self.live[args["target"]]
        elif verb == "tune":
            self.tune(args["target"], args["read_ahead_kb"])
        elif verb == "remount":
            self.remount(args["target"], args["options"])
        elif verb in {"readahead-save", "readahead-remove"}:
            return self.save(args)
        elif verb == "holders":
            return {"holders": [HOLDER]}
        return {}

    def mount(self, share: str, point: str, words: list[str]) -> dict[str, Any]:
        if point in self.live:
            raise AppError(ErrorKind.MOUNT_POINT_BUSY, "Something is mounted there.")
        # The kernel reuses the id of a mount that is gone (fs/namespace.c: mnt_alloc_id).
        used = {active.mount_id for active in self.live.values()}
        self._ids = next(number for number in itertools.count(100) if number not in used)
        # The helper adds nosuid and nodev to every mount.
        words = [*(word for word in words if word and word not in ALWAYS), *ALWAYS]
        shown = [word for word in words if not word.startswith("nconnect=")]
        options = ",".join(
            ["rw", *(word for word in shown if word not in {"rw", "ro"}), "relatime", "hard", "addr=10.0.0.1"]
        )
        if "ro" in words:
            options = "ro" + options[2:]
        connections = [int(word[9:]) for word in words if word.startswith("nconnect=")]
        # The first mount of a server determines nconnect for all later ones.
        connections = [live.nconnect for live in self.live.values()] or connections
        self.live[point] = Active(
            mount_id=self._ids, device=f"0:{self._ids}", share=share, fstype="nfs4",
            options=options if "vers=" in options else options + ",vers=4.2",
            nconnect=connections[0] if connections else 1, read_ahead_kb=128,
        )  # fmt: skip
        return {"mount_id": self._ids}

    def tune(self, point: str, kb: int) -> None:
        self._change(point, read_ahead_kb=kb)

    def save(self, args: dict[str, Any]) -> dict[str, Any]:
        rule = self.rule(args["target"])
        assert rule.sha256 == args["sha256"]
        file = self.root / rule.path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if "read_ahead_kb" in args:
            file.write_bytes(readahead_rule.text(args["target"], args["read_ahead_kb"]))
        else:
            file.unlink()
        return {"sha256": self.rule(args["target"]).sha256, "warnings": []}

    def remount(self, point: str, words: list[str]) -> None:
        items = self.live[point].options.split(",")
        if "ro" in words or "rw" in words:
            items[0] = "ro" if "ro" in words else "rw"
        items = [item for item in items if item not in {"noexec"}] if "exec" in words else items
        items += ["noexec"] if "noexec" in words else []
        self._change(point, options=",".join(items))

    def _change(self, point: str, **changes: Any) -> None:
        self.live[point] = msgspec.structs.replace(self.live[point], **changes)

    # The view of the host.

    def temporaries(self) -> list[str]:
        """Return the temporary files that a killed helper may leave."""
        return [str(self.root / fstab_writer.TEMPORARY), str(self.units / unit_writer.TEMPORARY)]

    def table(self) -> MountTable:
        by_units = systemd_units.read(str(self.root)).mounts
        configured = dict(by_units) | {
            entry.target: Configured(
                origin="/etc/fstab", line=entry.number, share=entry.share, fstype=entry.fstype,
                options=entry.options,
            )
            for entry in fstab_text.entries(self.path.read_bytes())
        }  # fmt: skip
        rows: list[Mount] = []
        for point in sorted({*configured, *self.live}):
            active = self.live.get(point)
            if active is not None:
                active = msgspec.structs.replace(active, recorded=self._requested.get(active.mount_id))
            share = active.share if active is not None else configured[point].share
            state: MountState = "mounted" if active is not None else "not-mounted"
            rows.append(
                Mount(
                    mount_point=point,
                    share=share,
                    state=state,
                    configured=configured.get(point),
                    active=active,
                )
            )
        rows += [
            Mount(mount_point=point, share=unit.share, state="not-mounted", configured=unit)
            for point, unit in by_units
            if unit is not configured[point]
        ]
        return MountTable(
            mounts=with_saved_readahead([with_requested_options(row) for row in rows], str(self.root))
        )

    def probe(self, _host: str, _port: int) -> AppError | None:
        return AppError(ErrorKind.SERVER_SILENT, "No answer.") if self.silent else None

    def view(self) -> HostView:
        return HostView(
            table=self.table,
            kept=self.kept(),
            probe=self.probe,
            check_point=lambda _share, _path: None,
            has_client=lambda _address, _version: False,
            added=lambda share, point, options: added_to(share, point, options, str(self.root)),
            rule=self.rule,
            holders=lambda _path: [Holder(pid=7, command="sh", user="me", use="open file", own=True)],
        )

    def kept(self) -> ConfigStore:
        helper: Any = self
        return ConfigStore(FstabStore(helper, str(self.path)), UnitStore(helper, str(self.units)))

    def rule(self, point: str) -> ReadaheadRule:
        return read_rule(point, str(self.root))

    def unit_files(self) -> dict[str, str]:
        """Return the text of every unit and the target of every link, by name."""
        return {
            str(path.relative_to(self.units)): str(path.readlink()) if path.is_symlink() else path.read_text()
            for path in self.units.rglob("*")
            if path.is_symlink() or path.is_file()
        }

    def state(self) -> tuple[Any, ...]:
        """Return the state that a change may modify, without the ids that each new mount gets."""
        mounts = {
            point: (live.share, live.options, live.nconnect, live.read_ahead_kb)
            for point, live in self.live.items()
        }
        return self.path.read_bytes(), self.unit_files(), mounts, read_saved_readaheads(str(self.root))

    def sha256(self) -> str:
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def apply(self, args: ApplyArgs) -> ApplyReport:
        def emit(event: ApplyEvent) -> None:
            self.events.append(event)
            self.on_event(event)

        self.change = ChangeRunner(args, self.view(), self.actions(), self.token, emit, records=self.records)
        return self.change.run()

    def actions(self) -> MountActions:
        helper: Any = self
        return MountActions(
            mount=helper, tune=helper, kept=self.kept(), saved=ReadaheadStore(helper, self.rule),
            settled=lambda _point, _token: contextlib.nullcontext(), note_asked=self._requested.__setitem__,
        )  # fmt: skip
