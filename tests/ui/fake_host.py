"""Fake host: an agent with scripted answers that speaks the real protocol over pipes."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import msgspec
from fake_experiments import FakeExperiments
from waiting import DEADLINE_S

from advisor.facts import ClientFacts, Facts, LinkFacts, PrerequisiteFacts, ServerFacts
from app.discovery.model import (
    ExportedPath,
    ExportsResult,
    KnownServer,
    ProbeResult,
    RootEntry,
    ServersEvent,
    ServersResult,
    Service,
    Subnet,
    Subnets,
    VersionOffer,
)
from app.errors import AppError, CancelledError, ErrorKind
from app.mounts.change_model import (
    ApplyEvent,
    ApplyPlan,
    ApplyReport,
    ApplyStep,
    Holder,
    Interruption,
    PlannedOptionChange,
    StepState,
)
from app.mounts.change_text import approval_sentences
from app.mounts.foreign_entries import foreign_entry
from app.mounts.model import (
    Active,
    Approval,
    Configured,
    Mount,
    MountReport,
    MountTable,
    OptionValue,
    ReadaheadReport,
    SavedEntryReport,
)
from app.mounts.restore import settings_of
from app.service.advice import advise
from app.service.before_after import lasting_change, plan_before_after
from app.service.client import AgentClient
from app.service.model import BeforeAfterEvent, BeforeAfterReport
from app.service.protocol import ApprovalResult, Empty, HelloResult, UnmountResult
from app.service.server import AgentServer, Context
from app.service.transport import PipeTransport
from app.speedtest.model import CacheReport, Sample, TestEvent, TestPlan, TestResult, Transfer
from app.speedtest.planning import plan_test
from app.speedtest.result_comparison import change_verdict, compare_results, measured_recommendations
from app.stats.model import MountSpeed, SpeedsSample, StatsSample
from ui.common.session import OpenHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.service.model import AdviceResult, BeforeAfterPlan, BeforeAfterStage
    from app.tasks import CancelToken


SERVER = ServerFacts(name="nas01", address="192.0.2.7")
LINK = LinkFacts(
    name="gigabit", interface="eth1", rate_bps=1e9, duplex="full", mtu=1500, rtt_s=0.0004, emulated=True
)


def active(share: str, options: str = "rw,relatime,vers=4.2,rsize=262144,wsize=262144,hard,timeo=600",
           recorded: str | None = None) -> Active:  # fmt: skip
    return Active(mount_id=40, device="0:50", share=share, fstype="nfs4", options=options, recorded=recorded)


def mounted(share: str = "nas01:/export/home", mount_point: str = "/home", requested: str = "") -> Mount:
    return Mount(
        mount_point=mount_point,
        share=share,
        state="mounted",
        active=active(share, recorded=requested),
        requested=requested,
    )


def readahead_set(mount: Mount, kb: int) -> Mount:
    """Return a mount with this readahead, KiB."""
    assert mount.active is not None
    return msgspec.structs.replace(mount, active=msgspec.structs.replace(mount.active, read_ahead_kb=kb))


def configured(share: str = "nas01:/media", mount_point: str = "/media", options: str = "vers=4.2") -> Mount:
    entry = Configured(origin="/etc/fstab", line=3, share=share, fstype="nfs", options=options)
    return Mount(
        mount_point=mount_point,
        share=share,
        state="not-mounted",
        configured=entry,
        requested=options,
        after_boot="mounted",
    )


def transfer(speed: float = 100e6, *, cached: bool = False, retransmissions: int = 3) -> Transfer:
    return Transfer(
        bytes=64 * 2**20, bytes_per_s=speed, transfer_s=0.5, fsync_s=0.1, close_s=0.001, timeouts=1,
        retransmissions=retransmissions, retransmissions_from="tcp_info", rpc_retransmissions=0,
        tcp_retransmissions=retransmissions, server_bytes=64 * 2**20, mean_rtt_s=0.0021, cached=cached,
        samples=[Sample(0.05, 1000, 1000)],
    )  # fmt: skip


def result(*, cached: bool = False, nfs: bool = True) -> TestResult:
    note = "The file was dropped from the cache before it was read."
    return TestResult(
        path="/home", nfs=nfs, share="nas01:/export/home", started_at="2026-01-01T00:00:00Z",
        write=transfer(),
        read=transfer(110e6, cached=cached),
        cache=CacheReport(method="fadvise", checked=True, cached=cached, note=note),
        requested={}, effective={},
        link=LINK, block_size=2**20, sync=False, notes=["A note to the reader."],
    )  # fmt: skip


DIFF = """--- /etc/fstab
+++ /etc/fstab (new)
@@ -1,2 +1,2 @@
 UUID=1234 / ext4 defaults 0 1
-nas01:/export/home /home nfs hard 0 0
+nas01:/export/home /home nfs timeo=100 0 0
"""
BASH = Holder(pid=4242, command="bash", user="ada", use="working directory", own=True)
MYSQL = Holder(pid=17, command="mysqld", user="mysql", use="open file /home/db/ibdata1", own=False)


class FakeHost(FakeExperiments):
    """Handlers of all verbs, with answers that the test sets; ``calls`` lists the requests."""

    def __init__(self, mounts: list[Mount] | None = None, *, lab: bool = False) -> None:
        self.mounts = list(mounts or [])
        self.lab = lab
        self.calls: list[tuple[str, Any]] = []
        self.mount_error: Exception | None = None
        self.unmount_error: Exception | None = None
        self.events: list[TestEvent] = []
        self.result = result()
        self.hold = threading.Event()
        self.hold.set()
        self.link = LINK
        #: Whether this computer has an RDMA device, None if unknown.
        self.rdma: bool | None = None
        self.samples: list[StatsSample] = []
        self.watching = 0
        super().__init__()
        self.busy: list[dict[str, MountSpeed]] = []
        self.known = Facts(client=ClientFacts(kernel="6.12.0", udp=False), link=LINK, server=SERVER)
        self.gather: Callable[[str], Facts] = lambda _share: self.known
        self.plan_error: Exception | None = None
        self.readahead_error: Exception | None = None
        self.volatile_kb: int | None = None
        self.approval: Approval | None = None
        self.restricted = False
        #: Whether a plan offers both mounting now and mounting later.
        self.can_wait = True
        self.instead = ""
        self.link_error: Exception | None = None
        self.test_plan_error: Exception | None = None
        self.free: int | None = 100 * 2**30
        self.hold_plan = threading.Event()
        self.hold_plan.set()
        self.apply_error: Exception | None = None
        #: Speeds of all tests before and after the change of a before-and-after test, bytes/s.
        self.trial_speeds = (100e6, 190e6)
        #: Errors of the plan, of the run and of the restoration of a before-and-after test, by verb.
        self.trial_errors: dict[str, Exception] = {}
        self.fails_at = "mount"
        self.holders: list[Holder] = []
        self.values: list[OptionValue] = []
        self.kept = threading.Event()
        self.revert_state: StepState = "done"
        self.exports: dict[str, Any] = {}
        self.discover_error: Exception | None = None
        self.helper_command = ""
        self.recent: list[KnownServer] = []
        self.known_servers = [
            KnownServer(name="nas01", sources=["fstab", "mounted"], exports=["/export/home"]),
            KnownServer(name="zeus", sources=["fstab"], exports=["/a"]),
        ]
        self.announced: list[KnownServer] = []
        #: Announced servers that are reported before the handler waits for ``hold``.
        self.announced_at_once: list[KnownServer] = []
        self.network_error: Exception | None = None
        self.answering: list[KnownServer] = []
        self.subnets = Subnets(
            subnets=[
                Subnet(
                    interface="eth0", network="10.9.0.0/24", first="10.9.0.1", last="10.9.0.254", count=254
                )
            ]
        )
        self.cancelled: list[str] = []
        self._changed = threading.Condition()
        self._clients: list[AgentClient] = []

    def opener(self, key: str, _token: CancelToken | None = None) -> OpenHost:
        self.lab = bool(key)
        to_agent, from_window = os.pipe()
        to_window, from_agent = os.pipe()
        requests, answers = os.fdopen(to_agent, "rb"), os.fdopen(from_agent, "wb", 0)
        server = AgentServer(PipeTransport(requests, answers), self.handlers())
        client = AgentClient(PipeTransport(os.fdopen(to_window, "rb"), os.fdopen(from_window, "wb", 0)))

        def serve() -> None:
            server.serve()
            with self._changed:
                self._changed.notify_all()
            requests.close()
            answers.close()

        thread = threading.Thread(target=serve, name="fake-agent", daemon=True)
        thread.start()

        def close() -> None:
            self.hold.set()
            client.close()
            thread.join(DEADLINE_S)
            client.join(DEADLINE_S)
            client._transport._reader.close()

        return OpenHost(client, close)

    def handlers(self) -> dict[str, Callable[[Any, Context], Any]]:
        return {
            "hello": self.hello, "mounts.list": self.list, "mounts.mount": self.mount,
            "mounts.approval": self.find_approval, "mounts.link": self.link_home,
            "mounts.unmount": self.unmount, "facts.get": self.facts, "test.run": self.test,
            "test.plan": self.plan_test,
            "mounts.foreign": lambda args, _context: foreign_entry(self.mounts, args.mount_point),
            "lab.link": self.switch, "mounts.plan": self.plan, "mounts.apply": self.apply,
            "discover.exports": self.discover_exports, "discover.probe": self.discover_probe,
            "discover.subnets": self.discover_subnets, "discover.scan": self.discover_scan,
            "discover.servers": self.discover_servers, "discover.forget": self.forget_servers,
            "mounts.readahead": self.readahead, "mounts.restore": self.restore,
            "before-after.plan": self.plan_before_after, "before-after.run": self.run_before_after,
            "mounts.keep": self.keep, "mounts.forget": self.forget, "advice.get": self.advice,
            "stats.watch": self.watch, "stats.speeds": self.speeds,
            "experiment.plan": self.plan_experiment, "experiment.run": self.run_experiment,
            "experiment.best": self.find_best, "experiment.search": self.go_on_searching,
        }  # fmt: skip

    def set_mounts(self, mounts: list[Mount]) -> None:
        with self._changed:
            self.mounts = list(mounts)
            self._changed.notify_all()

    def asked(self, verb: str) -> list[Any]:
        return [args for name, args in self.calls if name == verb]

    def hello(self, _args: Any, _context: Context) -> HelloResult:
        share = "10.9.0.1:/" if self.lab else ""
        return HelloResult(protocol=1, version="0", host="testhost", kernel="6.1.0", uid=1000, lab=self.lab,
                           share=share, link=self.link if self.lab else None,
                           helper_command=self.helper_command)  # fmt: skip

    def list(self, args: Any, context: Context) -> MountTable:
        if args.watch:
            shown: list[Mount] | None = None
            with context.token.on_cancel(self._wake), self._changed:
                while not context.token.cancelled:
                    if shown != self.mounts:
                        shown = list(self.mounts)
                        context.emit(MountTable(mounts=shown))
                    self._changed.wait(DEADLINE_S)
            raise CancelledError
        return MountTable(mounts=self.mounts)

    def watch(self, args: Any, context: Context) -> Empty:
        self.calls.append(("stats.watch", args))
        self.watching += 1
        ended = threading.Event()
        try:
            for sample in self.samples:
                context.emit(sample)
            with context.token.on_cancel(ended.set):
                ended.wait(DEADLINE_S)
            context.token.check()
        finally:
            self.watching -= 1
        return Empty()

    def speeds(self, _args: Any, context: Context) -> Empty:
        ended = threading.Event()
        for number, mounts in enumerate(self.busy):
            context.emit(SpeedsSample(t_s=float(number), mounts=mounts))
        with context.token.on_cancel(ended.set):
            ended.wait(DEADLINE_S)
        context.token.check()
        return Empty()

    def advice(self, args: Any, context: Context) -> AdviceResult:
        self.calls.append(("advice.get", args))
        self._hold(context)
        rows = [row for row in self.mounts if row.mount_point == args.mount_point]
        return advise(args, self.gather, rows[0] if rows else None, self.mounts)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def mount(self, args: Any, context: Context) -> MountReport:
        self.calls.append(("mounts.mount", args))
        self._hold(context)
        if self.mount_error is not None:
            error, self.mount_error = self.mount_error, None
            raise error
        row = mounted(args.share, args.mount_point, args.options)
        self.set_mounts([*self.mounts, row])
        return MountReport(mount=row, values=[], command="mount")

    def unmount(self, args: Any, context: Context) -> UnmountResult:
        self.calls.append(("mounts.unmount", args))
        self._hold(context)
        if self.unmount_error is not None and not args.approved:
            raise self.unmount_error
        self.set_mounts([row for row in self.mounts if row.mount_point != args.mount_point])
        return UnmountResult()

    def find_approval(self, args: Any, _context: Context) -> ApprovalResult:
        self.calls.append(("mounts.approval", args))
        text = approval_sentences(self.approval) if self.approval is not None else []
        if self.instead:
            text = [f"It can be mounted at {self.instead}, with a link to that at {args.mount_point}."]
        return ApprovalResult(approval=self.approval, instead=self.instead, text=text)

    def link_home(self, args: Any, _context: Context) -> Empty:
        self.calls.append(("mounts.link", args))
        if self.link_error is not None:
            raise self.link_error
        return Empty()

    def plan(self, args: Any, _context: Context) -> ApplyPlan:
        self.calls.append(("mounts.plan", args))
        if self.plan_error is not None:
            raise self.plan_error
        mounted_now = any(row.mount_point == args.mount_point and row.active for row in self.mounts)
        steps = []
        if args.keeper != "nowhere":
            steps += [ApplyStep(kind="back-up", text="Keep a copy of /etc/fstab."),
                      ApplyStep(kind="write", text="Write the entry to /etc/fstab.")]  # fmt: skip
        if args.mount and mounted_now:
            steps.append(
                ApplyStep(
                    kind="unmount", text=f"Unmount {args.mount_point}.", command=f"umount {args.mount_point}"
                )
            )
        if args.mount:
            command = f"mount -t nfs -o {args.options} {args.share} {args.mount_point}"
            steps.append(ApplyStep(kind="mount", text="Mount it with the new options.", command=command))
            steps.append(ApplyStep(kind="check", text="Compare what is in use with what was asked for."))
        change = PlannedOptionChange(name="timeo", before=None, after="100", takes="mount")
        return ApplyPlan(
            share=args.share, mount_point=args.mount_point, changes=[change], steps=steps, sha256="f00d",
            volatile_kb=None if args.save_read_ahead else self.volatile_kb,
            rule_diff="--- /etc/udev/x\n+++ /etc/udev/x\n+the rule\n" if args.save_read_ahead else "",
            diff=DIFF if args.keeper != "nowhere" else "", holders=self.holders if mounted_now else [],
            interruption=Interruption(
                effect="interrupts", mount_point=args.mount_point, typical_s=1.0, most_s=35.0
            ) if mounted_now and args.mount else Interruption(effect="next-mount"),
            can_wait=self.can_wait,
            sharing=["/media"] if mounted_now else [],
            approval=self.approval, restricted=self.restricted,
        )  # fmt: skip

    def apply(self, args: Any, context: Context) -> ApplyReport:
        self.calls.append(("mounts.apply", args))
        plan = self.plan(args, context)
        if self.holders and args.busy == "wait":
            context.emit(ApplyEvent(step=0, kind="unmount", state="begun", holders=self.holders))
        self._hold(context)
        for number, step in enumerate(plan.steps):
            context.emit(ApplyEvent(step=number, kind=step.kind, state="begun", text=step.text))
            if self.apply_error is not None and step.kind in {self.fails_at, "write"}:
                context.emit(ApplyEvent(step=number, kind=step.kind, state="failed", text="It did not work.",
                                        holders=self.holders))  # fmt: skip
                raise self.apply_error
            context.emit(ApplyEvent(step=number, kind=step.kind, state="done"))
        if args.keep_s:
            last = len(plan.steps) - 1
            context.emit(ApplyEvent(step=last, kind="keep", state="begun"))
            context.emit(ApplyEvent(step=last, kind="keep", state="begun", keep_s=args.keep_s))
            while not self.kept.wait(0.01):
                if context.token.cancelled:
                    context.emit(ApplyEvent(step=last, kind="revert", state=self.revert_state))
                    raise AppError(ErrorKind.CANCELLED, "The settings were taken back.")
        report = None
        if args.mount:
            row = mounted(args.share, args.mount_point, args.options)
            others = [one for one in self.mounts if one.mount_point != args.mount_point]
            self.set_mounts([*others, row])
            report = MountReport(mount=row, values=self.values, command="mount")
        return ApplyReport(plan=plan, report=report, diff=plan.diff, backup="/b" if plan.diff else "")

    def plan_before_after(self, args: Any, context: Context) -> BeforeAfterPlan:
        self.calls.append(("before-after.plan", args))
        self._raise_trial_error("plan")
        (row,) = (row for row in self.mounts if row.mount_point == args.mount_point)
        advice = advise(args, self.gather, row, self.mounts)
        return plan_before_after(row, advice, lambda change: self.plan(change, context))

    def run_before_after(self, args: Any, context: Context) -> BeforeAfterReport:
        """Report ``trial_speeds`` (bytes/s before and after) as the result of all tests."""
        self.calls.append(("before-after.run", args))
        (row,) = (row for row in self.mounts if row.mount_point == args.change.mount_point)
        results: dict[BeforeAfterStage, list[TestResult]] = {"before": [], "after": []}
        stages: tuple[tuple[BeforeAfterStage, float], ...] = tuple(
            zip(("before", "after"), self.trial_speeds, strict=True)
        )
        for stage, speed in stages:
            if stage == "after":
                context.emit(BeforeAfterEvent(stage="change", left_s=10.0))
            for number in range(1, 5):
                context.emit(BeforeAfterEvent(stage=stage, number=number, left_s=20.0))
                for event in self.events:
                    context.emit(BeforeAfterEvent(stage=stage, number=number, test=event))
                self._hold(context)
                measured = msgspec.structs.replace(
                    self.result, write=transfer(speed), read=transfer(speed), figures={},
                    started_at=f"2026-01-01T00:00:0{number}Z" if stage == "before" else
                    f"2026-01-01T00:01:0{number}Z",
                )  # fmt: skip
                results[stage].append(measured)
                context.emit(BeforeAfterEvent(stage=stage, number=number, result=measured, left_s=15.0))
        self._raise_trial_error("run")
        comparisons = compare_results(results["before"], results["after"])
        verdict, before, link = change_verdict(comparisons), settings_of(row), self.known.link
        if verdict == "faster":
            self.change_mount(row, args.change.options, args.change.read_ahead_kb)
        return BeforeAfterReport(
            verdict=verdict, comparisons=comparisons,
            measured=measured_recommendations(comparisons, args.recommendations),
            share=row.share, link=link.name if link is not None and link.emulated else "", before=before,
            keep=lasting_change(args.change, before) if verdict == "faster" else None,
        )  # fmt: skip

    def _raise_trial_error(self, step: str) -> None:
        error = self.trial_errors.pop(step, None)
        if error is not None:
            raise error

    def change_mount(self, row: Mount, options: str, kb: int | None) -> None:
        """Mount a row with other options, and with another readahead unless it is None."""
        live = active(row.share, recorded=options)
        kb = kb if kb is not None or row.active is None else row.active.read_ahead_kb
        changed = msgspec.structs.replace(
            row, requested=options, active=msgspec.structs.replace(live, read_ahead_kb=kb)
        )
        self.set_mounts([changed if one is row else one for one in self.mounts])

    def restore(self, args: Any, _context: Context) -> Mount:
        self.calls.append(("mounts.restore", args))
        self._raise_trial_error("restore")
        settings = args.settings
        (row,) = (row for row in self.mounts if row.mount_point == settings.mount_point)
        self.change_mount(row, settings.options, settings.read_ahead_kb)
        return next(row for row in self.mounts if row.mount_point == settings.mount_point)

    def keep(self, args: Any, _context: Context) -> Empty:
        self.calls.append(("mounts.keep", args))
        self.kept.set()
        return Empty()

    def forget(self, args: Any, _context: Context) -> SavedEntryReport:
        self.calls.append(("mounts.forget", args))
        diff = "--- /etc/fstab\n+++ /etc/fstab (new)\n@@ -1 +0,0 @@\n-nas01:/media /media nfs vers=4.2 0 0\n"
        if args.preview:
            return SavedEntryReport(diff=diff, line="", sha256="beef", approval=self.approval)
        return SavedEntryReport(diff=diff, line="", sha256="beef", written=True, backup="/var/backup")

    def readahead(self, args: Any, _context: Context) -> ReadaheadReport:
        self.calls.append(("mounts.readahead", args))
        row = next(row for row in self.mounts if row.mount_point == args.mount_point)
        before, after = row.saved_read_ahead_kb, args.read_ahead_kb
        file = "/etc/udev/rules.d/99-zz-mountwright-readahead-0.rules"
        diff = f"--- {file}\n+++ {file} (new)\n+the rule of {after}\n"
        report = ReadaheadReport(
            mount_point=args.mount_point, file=file, diff=diff,
            sha256=f"of {before}", before=before, after=after,
        )  # fmt: skip
        if args.preview:
            return report
        if self.readahead_error is not None:
            raise self.readahead_error
        live = row.active
        if live is not None:
            state = "saved" if after == live.read_ahead_kb else "until-unmounted"
            live = msgspec.structs.replace(live, read_ahead_state=state)
        others = [one for one in self.mounts if one is not row]
        self.set_mounts([*others, msgspec.structs.replace(row, saved_read_ahead_kb=after, active=live)])
        return msgspec.structs.replace(report, written=True, written_sha256=f"of {after}")

    def discover_exports(self, args: Any, context: Context) -> ExportsResult:
        self._asked_of_server("discover.exports", args, context)
        answer: dict[str, Any] = {
            "exports": [ExportedPath(path="/export/home", clients=["10.0.0.0/8", "ada.example"]),
                        ExportedPath(path="/export/with space")],
            "root": [RootEntry(path="/export", export=False), RootEntry(path="/export/home", export=True)],
        }  # fmt: skip
        return ExportsResult(server=args.server, address="10.0.0.7", **{**answer, **self.exports})

    def discover_probe(self, args: Any, context: Context) -> ProbeResult:
        self._asked_of_server("discover.probe", args, context)
        offers = {("tcp", "3"): True, ("tcp", "4.2"): True, ("udp", "3"): False, ("tcp", "4.0"): False}
        return ProbeResult(
            server=args.server, address="10.0.0.7", port=2049,
            versions=[VersionOffer(transport=transport, version=version, offered=offered, note="It said.")
                      for (transport, version), offered in offers.items()],
            services=[Service(program=100003, name="nfs", version=3, transport="tcp", port=2049,
                              answers=True),
                      Service(program=100005, name="mountd", version=3, transport="tcp", port=20048)],
            notes=["Version 4.2 is the newest that it offers."],
        )  # fmt: skip

    def discover_servers(self, args: Any, context: Context) -> ServersResult:
        self.calls.append(("discover.servers", args))
        known = [*self.known_servers, *self.recent]
        return ServersResult(servers=[*known, *(self._announced(context) if args.browse else [])])

    def _announced(self, context: Context) -> list[KnownServer]:
        for server in self.announced_at_once:
            context.emit(ServersEvent(servers=[server]))
        self._hold(context)
        if self.network_error is not None:
            raise self.network_error
        return [*self.announced_at_once, *self.announced]

    def discover_subnets(self, _args: Any, _context: Context) -> Subnets:
        return self.subnets

    def discover_scan(self, args: Any, context: Context) -> ServersResult:
        self.calls.append(("discover.scan", args))
        with context.token.on_cancel(lambda: self.cancelled.append("scan")):
            context.emit(ServersEvent(servers=self.answering[:1], asked=100, total=254))
            self._hold(context)
        return ServersResult(servers=self.answering)

    def forget_servers(self, args: Any, _context: Context) -> Empty:
        self.calls.append(("discover.forget", args))
        self.recent = []
        return Empty()

    def _asked_of_server(self, verb: str, args: Any, context: Context) -> None:
        self.calls.append((verb, args))
        with context.token.on_cancel(lambda: self.cancelled.append(args.server)):
            self._hold(context)
        if self.discover_error is not None:
            raise self.discover_error

    def facts(self, args: Any, _context: Context) -> Facts:
        self.calls.append(("facts.get", args))
        return Facts(
            client=ClientFacts(hostname="testhost", udp=False),
            link=self.link if args.share else None,
            server=ServerFacts(name="nas01") if args.share else None,
            prerequisites=PrerequisiteFacts(rdma_device=self.rdma),
        )

    def plan_test(self, args: Any, context: Context) -> TestPlan:
        self.calls.append(("test.plan", args))
        while not self.hold_plan.wait(0.01):
            context.token.check()
        if self.test_plan_error is not None:
            raise self.test_plan_error
        return plan_test(args, self.free, self.link)

    def test(self, args: Any, context: Context) -> TestResult:
        self.calls.append(("test.run", args))
        for event in self.events:
            context.emit(event)
        self._hold(context)
        return self.result

    def switch(self, args: Any, _context: Context) -> LinkFacts:
        self.calls.append(("lab.link", args))
        self.link = LinkFacts(name=args.link, rate_bps=1e7, emulated=True)
        return self.link

    def _hold(self, context: Context) -> None:
        while not self.hold.wait(0.01):
            context.token.check()
        if context.token.cancelled:
            raise CancelledError
