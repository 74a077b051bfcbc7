"""Agent verbs: the handler that carries out each verb of the protocol on this host."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import socket
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.dialects.linux import mount_command
from advisor.options import MountOptions, options_for_mount
from app.discovery.client import TRY_S, ask_exports, ask_versions, scan_networks, with_test_mount
from app.discovery.known_servers import clear_recent_shares, find_servers, record_recent_share
from app.discovery.model import ServersResult
from app.discovery.scan import subnets
from app.errors import AppError, ErrorKind
from app.facts.gather import gather_facts
from app.facts.missing_prerequisites import missing_prerequisites
from app.facts.tunables import TunablesArgs, TunablesResult, read_tunables
from app.helper_client.client import ApprovedPlan, HelperClient
from app.helper_client.polkit import missing_helper_command
from app.kernel.nfsmount_conf import added_to
from app.kernel.utab import plain_share
from app.mounts import mount_point
from app.mounts.actions import MountActions, kernel_has_client
from app.mounts.apply import ChangeRunner
from app.mounts.approval import (
    approval_of_change,
    home_link_offer,
    make_home_link,
    move_error,
    not_approved_error,
    required_approval,
)
from app.mounts.change_text import approval_sentences
from app.mounts.config_store import ConfigStore
from app.mounts.file_import import plan_import, run_import
from app.mounts.findings import lint_mount, merge_findings, refusal_error
from app.mounts.foreign_entries import foreign_entry
from app.mounts.fstab_store import FstabStore
from app.mounts.interrupted_changes import ChangeRecords
from app.mounts.model import Mount, MountReport, MountTable, ReadaheadReport, SavedEntryReport
from app.mounts.mount_point import check_mount_point
from app.mounts.mount_users import explain_unmount, find_holders, find_waiting_processes
from app.mounts.option_comparison import compare_options
from app.mounts.parsing import parse_options, share_to_mount
from app.mounts.plan import HostView, make_plan
from app.mounts.probe_exclusion import ProbeExclusion
from app.mounts.reachability import probe_server
from app.mounts.removal import remove_saved_mount
from app.mounts.restore import restore_settings
from app.mounts.saved_readahead import ReadaheadStore
from app.mounts.space import SpaceReader
from app.mounts.system_log import LogReader, log_subject
from app.mounts.table import RecordedOptions, plain_path, watch_table
from app.mounts.unit_store import UnitStore
from app.process import find_program
from app.service.advice import advise
from app.service.before_after import BeforeAfterTest, before_after_settings, plan_before_after
from app.service.measurements import ExperimentVerbs, Measurement, MeasurementLock, TestVerbs
from app.service.protocol import (
    PROTOCOL,
    ApprovalArgs,
    ApprovalResult,
    CheckArgs,
    CheckResult,
    Empty,
    FactsArgs,
    HelloResult,
    LinkHomeArgs,
    ListArgs,
    MountArgs,
    UnmountArgs,
    UnmountResult,
)
from app.speedtest import leftover_files
from app.speedtest.cleanup import CANCEL_TIMEOUT_S, wait_for_cleanups
from app.speedtest.mount_session import MountSession
from app.speedtest.unmount_wait import flushed_before_unmount
from app.stats.health_monitor import HealthMonitor, with_trouble
from app.stats.rates import watch_rates
from app.stats.speeds import watch_speeds
from app.text.errors import ErrorCode
from app.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from advisor.facts import Facts, LinkFacts
    from advisor.share import Share
    from app.discovery.model import (
        ExportsArgs,
        ExportsResult,
        ProbeArgs,
        ProbeResult,
        ScanArgs,
        ServersArgs,
        Subnets,
    )
    from app.mounts.approval import ApprovalChange
    from app.mounts.change_model import (
        ApplyArgs,
        ApplyEvent,
        ApplyPlan,
        ApplyReport,
        DismissArgs,
        ForeignArgs,
        ForeignEntry,
        ImportArgs,
        ImportPlan,
        ImportPlanArgs,
        ImportReport,
        KeepArgs,
        PersistArgs,
        ReadaheadArgs,
        RemoveArgs,
        RestoreArgs,
    )
    from app.mounts.model import Holder, LogArgs, MountLog, Space, SpaceArgs, WaitingArgs, WaitingProcesses
    from app.service.model import (
        AdviceArgs,
        AdviceResult,
        BeforeAfterArgs,
        BeforeAfterPlan,
        BeforeAfterReport,
    )
    from app.service.server import Context, Handler
    from app.stats.model import SpeedsArgs, StatsSample, WatchArgs
    from app.tasks import CancelToken

log = logging.getLogger("agent")

#: Errors which mean that no privileged helper is available to mount or unmount.
_HELPER_ABSENT = frozenset({
    ErrorKind.HELPER_MISSING, ErrorKind.HELPER_UNTRUSTED, ErrorKind.PKEXEC_MISSING,
    ErrorKind.POLKIT_AGENT_MISSING,
})  # fmt: skip
#: Time that close() allows a change to roll back, s: one slow unmount and one slow mount.
_ROLLBACK_TIMEOUT_S = 45.0
#: Timeout of an unmount, enforced by the helper, s.
_UNMOUNT_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class LabInfo:
    """Lab data that the guest reports in addition to an ordinary host.

    Attributes:
        share: export of the lab's server, in the form server:/path.
        link: function that returns the link emulated at the moment.
    """

    share: str
    link: Callable[[], LinkFacts]


class HostVerbs:
    """The verbs of one host; methods take (args, context) and return the verb's result."""

    def __init__(self, lab: LabInfo | None = None) -> None:
        self._lab = lab
        self._helper = HelperClient("mount")
        self._tune = HelperClient("tune")
        persist = HelperClient("persist")
        self._fstab = FstabStore(persist)
        self._configs = ConfigStore(self._fstab, UnitStore(persist))
        self._readaheads = ReadaheadStore(self._tune)
        #: The running change by the id of its request; a second change is refused.
        self._changes: dict[int, ChangeRunner] = {}
        self._change_lock = threading.Lock()
        self._records = ChangeRecords()
        self._requested = RecordedOptions()
        self._probe_exclusion = ProbeExclusion()
        self._space = SpaceReader(questions=self._probe_exclusion)
        self._health = HealthMonitor(questions=self._probe_exclusion)
        self._measurement_lock = measurement_lock = MeasurementLock()
        # One session for tests, plans and experiments, so that one approval covers all their mounts.
        self._session = MountSession()
        self._test_verbs = TestVerbs(
            measurement_lock, self._requested, self._lab_link, self._remount, self._session
        )
        self._experiment_verbs = ExperimentVerbs(measurement_lock, self._lab_link, self._session)

    def handlers(self) -> dict[str, Handler]:
        """Return the verb table for an :class:`app.service.server.AgentServer`."""
        return {
            "hello": self.hello,
            "mounts.list": self.list_mounts,
            "mounts.mount": self.mount,
            "mounts.unmount": self.unmount,
            "mounts.check": self.check,
            "mounts.approval": self.get_approval,
            "mounts.link": self.link,
            "mounts.persist": self.persist,
            "mounts.forget": self.forget,
            "mounts.readahead": self.save_readahead,
            "mounts.foreign": self.get_foreign,
            "mounts.plan": self.plan,
            "mounts.apply": self.apply,
            "mounts.keep": self.keep,
            "mounts.restore": self.restore,
            "mounts.dismiss": self.dismiss,
            "before-after.plan": self.plan_before_after,
            "before-after.run": self.run_before_after,
            "mounts.space": self.get_space,
            "mounts.log": self.get_log,
            "mounts.waiting": self.get_waiting,
            "mounts.import-plan": self.plan_import,
            "mounts.import": self.import_mounts,
            "discover.servers": self.find_servers,
            "discover.subnets": self.get_subnets,
            "discover.scan": self.scan,
            "discover.forget": self.forget_servers,
            "discover.exports": self.find_exports,
            "discover.probe": self.probe_server,
            "facts.get": self.get_facts,
            "advice.get": self.get_advice,
            "tunables.get": self.get_tunables,
            "stats.watch": self.watch_stats,
            "stats.speeds": self.watch_speeds,
            **self._test_verbs.handlers(),
            **self._experiment_verbs.handlers(),
        }

    def close(self) -> None:
        """Wait for a change to roll back and for tests to clean up, then stop the helpers.

        The caller has cancelled all tests. They get CANCEL_TIMEOUT_S to remove their files; the rest is
        recorded as left over.
        """
        end = time.monotonic() + CANCEL_TIMEOUT_S
        if self._change_lock.acquire(timeout=_ROLLBACK_TIMEOUT_S):
            self._change_lock.release()
        self._measurement_lock.wait(max(0.0, end - time.monotonic()))
        if not leftover_files.has_leftovers():
            wait_for_cleanups(max(0.0, end - time.monotonic()))
        self._helper.close()
        self._tune.close()
        self._session.close()
        self._fstab.close()

    def hello(self, _args: Empty, _context: Context) -> HelloResult:
        """Return the versions of protocol, program and kernel, and the lab's data."""
        return HelloResult(
            protocol=PROTOCOL,
            version=VERSION,
            host=socket.gethostname(),
            kernel=platform.release(),
            uid=os.geteuid(),
            lab=self._lab is not None,
            share=self._lab.share if self._lab else "",
            link=self._lab_link(),
            helper_command=missing_helper_command(),
        )

    def list_mounts(self, args: ListArgs, context: Context) -> MountTable:
        """Return the mount table; with ``watch``, also send it at each change until cancelled."""
        if args.watch:
            watch_table(
                context.token,
                lambda _table: context.emit(self._observed_table()),
                listen=self._health.watching,
            )
        return self._observed_table()

    def mount(self, args: MountArgs, context: Context) -> MountReport:
        """Mount a share through the helper; return its options as requested and as in use.

        Raises:
            AppError: if an approval or a prerequisite is missing, the server does not answer, or mount.nfs
                fails.
        """
        share = share_to_mount(args.share)
        options = parse_options(args.options)
        approval = required_approval(
            args.share, args.mount_point, mounts=True, options=options_for_mount(options)
        )
        if approval is None:
            problem = check_mount_point(args.share, args.mount_point, create=args.create)
            if problem is not None:
                raise problem
        elif not args.approved:
            raise not_approved_error(approval)
        if find_program("mount.nfs") is None:
            raise AppError(ErrorCode.MOUNT_NFS_NOT_INSTALLED)
        problem = refusal_error(
            missing_prerequisites(args.share, args.mount_point, args.options), args.options
        )
        if problem is not None:
            raise problem
        try:
            self._check_server(share, options)
        finally:
            context.token.check()  # a cancellation takes precedence over an error of the server
        mount_options = options_for_mount(options)
        if options.get("bg") == "bg":
            mount_options.set("bg", "bg")  # the helper mounts in the foreground and reports that it did
        helper_args = {
            "share": args.share,
            "target": args.mount_point,
            "options": str(mount_options),
            "create": args.create,
            "hide": approval is not None and approval.hidden != 0,
            "timeout_s": args.timeout_s,
        }
        answer = self._call_mount("mount", helper_args, args.share, context.token, approved=args.approved)
        self._requested.note(int(answer["mount_id"]), args.options)
        _add_recent_server(args.share)
        mount = _find(self._table(), args.mount_point)
        return MountReport(
            mount=mount,
            values=compare_options(
                options, mount.active, added_to(args.share, args.mount_point, options_for_mount(options))
            ),
            command=mount_command(args.share, args.mount_point, options),
            messages=[line for line in str(answer.get("output", "")).splitlines() if line.strip()],
            findings=lint_mount(
                options,
                saved=False,
                share=args.share,
                mount_point=args.mount_point,
                mounts=self._table().mounts,
            ),
        )

    def unmount(self, args: UnmountArgs, context: Context) -> UnmountResult:
        """Unmount through the helper, after files left by tests on the mount have been removed."""
        point = plain_path(args.mount_point)
        active = next((row.active for row in self._table().mounts if row.mount_point == point), None)
        share = active.share if active is not None else ""
        approval = required_approval(share, args.mount_point, change="unmount")
        if approval is not None and not args.approved:
            raise not_approved_error(approval)
        helper_args = {
            "target": args.mount_point,
            "force": args.force,
            "lazy": args.lazy,
            "timeout_s": _UNMOUNT_TIMEOUT_S,
        }
        approved = args.approved and bool(share)
        try:
            with self._ready_to_unmount(point, context.token):
                answer = self._call_mount("unmount", helper_args, share, context.token, approved=approved)
        except AppError as error:
            if active is None and error.kind in _HELPER_ABSENT:
                raise AppError(ErrorCode.NO_NFS_MOUNT, mount_point=args.mount_point) from error
            if error.kind not in {ErrorKind.BUSY, ErrorKind.NOT_RESPONDING}:
                raise
            raise self._explain_unmount_error(error, args) from error
        return UnmountResult(removed_directory=bool(answer.get("removed_directory", False)))

    def check(self, args: CheckArgs, context: Context) -> CheckResult:
        """Return findings about programs, modules and services that a mount needs and this computer lacks."""
        context.token.check()
        return CheckResult(findings=missing_prerequisites(args.share, args.mount_point, args.options))

    def get_approval(self, args: ApprovalArgs, _context: Context) -> ApprovalResult:
        """Return the approval that mounting a share, or unmounting a mount point, requires."""
        offer = home_link_offer(args.share, args.mount_point) if args.share else None
        if offer is not None:
            suggested_point, link = offer
            text = f"It can be mounted at {suggested_point}, with a link to that at {link}."
            return ApprovalResult(
                instead=suggested_point, text=["No share is mounted in a home directory.", text]
            )
        change: ApprovalChange = "none" if args.share else "unmount"
        options = options_for_mount(parse_options(args.options))
        approval = required_approval(
            args.share, args.mount_point, mounts=bool(args.share), change=change, options=options
        )
        return ApprovalResult(
            approval=approval, text=approval_sentences(approval) if approval is not None else []
        )

    def link(self, args: LinkHomeArgs, _context: Context) -> Empty:
        """Create a symbolic link in a home directory that points to a mount point."""
        make_home_link(args.path, args.target)
        return Empty()

    def persist(self, args: PersistArgs, context: Context) -> SavedEntryReport:
        """Write an entry to fstab, or preview it.

        Without options in the request, an active mount is saved with the options it was mounted with.
        """
        if args.options is None and not args.replaces and not self._fstab.share_at(args.mount_point):
            args = msgspec.structs.replace(args, options=self._live_options(args))
        written = self._fstab.reserved(args)
        approval = required_approval(args.share, args.mount_point, keeps=True, written=written)
        moved = args.replaces not in {"", args.mount_point}
        if moved and (approval is not None or required_approval("", args.replaces, keeps=True) is not None):
            raise move_error(args.replaces, args.mount_point)
        if args.preview or approval is None:
            report = self._fstab.persist(args, context.token)
            missing = missing_prerequisites(args.share, args.mount_point, _options_of(report.line))
            return msgspec.structs.replace(
                report,
                approval=approval,
                findings=merge_findings(missing, report.findings),
                given=args.options or "",
            )
        if not args.approved:
            raise not_approved_error(approval)
        requests = self._fstab.requests(args)
        helper = self._approve("persist-system", args.share, args.mount_point, requests)
        with contextlib.closing(helper):
            return self._fstab.persist(args, context.token, helper)

    def _live_options(self, args: PersistArgs) -> str | None:
        """Return the options the share was mounted with at the mount point; None if it is not mounted."""
        share = plain_share(args.share)
        for row in self._table().mounts:
            mounted = row.mount_point == args.mount_point and row.active is not None
            if mounted and row.active is not None and plain_share(row.active.share) == share:
                return row.requested
        return None

    def forget(self, args: RemoveArgs, context: Context) -> SavedEntryReport:
        """Remove a mount from fstab or from Mountwright's systemd units, or preview the removal."""
        return remove_saved_mount(args, context.token, self._configs, self._readaheads, self._start_helper)

    def save_readahead(self, args: ReadaheadArgs, context: Context) -> ReadaheadReport:
        """Save the readahead of a mount point, remove the saved value, or preview either."""
        return self._readaheads.change(
            args.mount_point,
            args.read_ahead_kb,
            args.expected_sha256,
            preview=args.preview,
            token=context.token,
        )

    def get_foreign(self, args: ForeignArgs, _context: Context) -> ForeignEntry:
        """Return the settings that can be imported from an entry not created by Mountwright."""
        return foreign_entry(self._table().mounts, args.mount_point)

    def plan(self, args: ApplyArgs, context: Context) -> ApplyPlan:
        """Return the steps, warnings and required approval of a change of a mount."""
        context.token.check()
        return make_plan(args, self._host_view())

    def apply(self, args: ApplyArgs, context: Context) -> ApplyReport:
        """Apply a change of a mount; roll it back if a step fails or the user does not confirm it."""
        with self._exclusive_change():
            change = self._change_runner(args, context.token, context.emit)
            self._changes[context.request_id] = change
            try:
                report = change.run()
            finally:
                self._changes.pop(context.request_id, None)
            if report.report is not None:
                _add_recent_server(args.share)
            return report

    def restore(self, args: RestoreArgs, context: Context) -> Mount:
        """Restore the settings of a mount from before a change that was kept."""
        token = context.token
        with self._exclusive_change():
            return restore_settings(
                args,
                find=lambda point: _find(self._table(), point),
                apply=lambda change: self._change_runner(change, token, lambda _event: None).run(),
                remove=lambda removal: remove_saved_mount(
                    removal, token, self._configs, self._readaheads, self._start_helper
                ),
                save_readahead=lambda point, kb: self._readaheads.change(
                    point, kb, None, preview=False, token=token
                ),
            )

    def plan_before_after(self, args: AdviceArgs, context: Context) -> BeforeAfterPlan:
        """Return the plan of a before-and-after test of a mount's recommendations."""
        context.token.check()
        mount = _find(self._table(), args.mount_point)
        return plan_before_after(
            mount, self.get_advice(args, context), lambda change: make_plan(change, self._host_view())
        )

    def run_before_after(self, args: BeforeAfterArgs, context: Context) -> BeforeAfterReport:
        """Test a mount, change it, test it again; keep the change only if it is proven faster."""
        settings = before_after_settings(_find(self._table(), args.change.mount_point))
        lock = self._measurement_lock.acquire(Measurement.GAIN_TRIAL, context.token)
        with self._exclusive_change(), lock:
            return BeforeAfterTest(
                args,
                settings,
                context.token,
                context.emit,
                run_test=self._test_verbs.run_mounted_test,
                make_change=lambda change, emit, decide: self._change_runner(
                    change, context.token, emit, decide=decide
                ),
            ).run()

    def _change_runner(
        self,
        change: ApplyArgs,
        token: CancelToken,
        emit: Callable[[ApplyEvent], None],
        *,
        decide: Callable[[], bool] | None = None,
    ) -> ChangeRunner:
        """Return the runner of one change; ``decide`` takes the place of a person's confirmation."""
        view, actions = self._host_view(), self._mount_actions()
        return ChangeRunner(change, view, actions, token, emit, records=self._records, decide=decide)

    @contextlib.contextmanager
    def _exclusive_change(self) -> Generator[None]:
        """Hold the lock that allows one change at a time.

        Raises:
            AppError: BUSY if another change is running.
        """
        if not self._change_lock.acquire(blocking=False):
            raise AppError(ErrorCode.CHANGE_RUNNING)
        try:
            yield
        finally:
            self._change_lock.release()

    def plan_import(self, args: ImportPlanArgs, context: Context) -> ImportPlan:
        """Return the changes that importing the entries of a file would make."""
        return plan_import(args, self._host_view(), context.token)

    def import_mounts(self, args: ImportArgs, context: Context) -> ImportReport:
        """Write the chosen entries of a file; an entry that fails is rolled back."""

        def apply(change: ApplyArgs) -> ApplyReport:
            return self._change_runner(change, context.token, lambda _event: None).run()

        with self._exclusive_change():
            return run_import(args, self._host_view(), apply, context.token, context.emit)

    def keep(self, args: KeepArgs, _context: Context) -> Empty:
        """Confirm the change of a running request, so that it is not rolled back."""
        change = self._changes.get(args.id)
        if change is None:
            raise AppError(ErrorCode.NO_CHANGE_WAITS)
        change.keep()
        return Empty()

    def dismiss(self, args: DismissArgs, _context: Context) -> Empty:
        """Remove the record of an interrupted change, so that the mount table no longer lists it."""
        self._records.dismiss(args.id)
        return Empty()

    def get_waiting(self, args: WaitingArgs, _context: Context) -> WaitingProcesses:
        """Return the processes blocked on a mount that this user may see."""
        return find_waiting_processes(args.mount_point)

    def get_space(self, args: SpaceArgs, context: Context) -> Space:
        """Return the used and free space of a mount, at most a minute old."""
        return self._space.ask(args.mount_point, context.token)

    def get_log(self, args: LogArgs, context: Context) -> MountLog:
        """Return the system log's lines about a mount and its server."""
        table = self._table()
        subject = log_subject(_find(table, args.mount_point), table.mounts)
        return LogReader().read(subject, context.token, since_s=args.since_s, lines=args.lines)

    def find_servers(self, args: ServersArgs, context: Context) -> ServersResult:
        """Return the servers of past and present mounts, and those announced by mDNS."""
        return find_servers(context.token, context.emit, browse=args.browse)

    def get_subnets(self, _args: Empty, _context: Context) -> Subnets:
        """Return the networks that a scan would cover; sends no packets."""
        return subnets()

    def scan(self, args: ScanArgs, context: Context) -> ServersResult:
        """Scan networks for NFS servers; the user has agreed to the scan."""
        return ServersResult(servers=scan_networks(args.networks, context.token, context.emit))

    def forget_servers(self, _args: Empty, _context: Context) -> Empty:
        """Clear the list of recently used servers."""
        clear_recent_shares()
        return Empty()

    def find_exports(self, args: ExportsArgs, context: Context) -> ExportsResult:
        """Query the exports of a server."""
        result = ask_exports(
            args.server, context.token, port=args.port, mount_port=args.mount_port, seconds=args.seconds
        )
        if not args.test_mount:
            return result
        token = context.token
        return with_test_mount(
            result,
            args.port,
            lambda helper_args: self._helper.call("try", helper_args, token, timeout_s=TRY_S + 10),
        )

    def probe_server(self, args: ProbeArgs, context: Context) -> ProbeResult:
        """Query the NFS versions and RPC services of a server."""
        return ask_versions(args.server, context.token, port=args.port, seconds=args.seconds)

    def get_facts(self, args: FactsArgs, context: Context) -> Facts:
        """Return the facts about a share, a mount point, or the client alone."""
        context.token.check()
        share = args.share
        if args.mount_point:
            share = _find(self._table(), args.mount_point).share
        return gather_facts(share, link_override=self._lab_link())

    def get_advice(self, args: AdviceArgs, context: Context) -> AdviceResult:
        """Return recommendations for a mount, or for another computer described in the request."""
        context.token.check()
        table = self._table()
        mount = _find(table, args.mount_point) if args.mount_point else None
        link = self._lab_link()
        return advise(args, lambda share: gather_facts(share, link_override=link), mount, table.mounts)

    def get_tunables(self, args: TunablesArgs, _context: Context) -> TunablesResult:
        """Return kernel parameters outside the mount options, such as readahead and slot tables."""
        live = _find(self._table(), args.mount_point).active if args.mount_point else None
        return read_tunables(live.device if live is not None else "")

    def watch_stats(self, args: WatchArgs, context: Context) -> Empty:
        """Send the rates of one mount, one sample per interval, until cancelled."""

        def emit(sample: StatsSample) -> None:
            context.emit(sample)

        watch_rates(args.mount_point, args.interval_s, context.token, emit)
        return Empty()

    def watch_speeds(self, args: SpeedsArgs, context: Context) -> Empty:
        """Send the speeds of all mounts, one sample per interval, until cancelled."""
        watch_speeds(args.interval_s, context.token, context.emit)
        return Empty()

    def _lab_link(self) -> LinkFacts | None:
        return self._lab.link() if self._lab is not None else None

    def _remount(self, share: str, mount_point: str, options: str, context: Context) -> None:
        self.unmount(UnmountArgs(mount_point=mount_point), context)
        self.mount(MountArgs(share=share, mount_point=mount_point, options=options), context)

    def _host_view(self) -> HostView:
        return HostView(
            table=self._table,
            kept=self._configs,
            probe=probe_server,
            check_point=lambda share, path: check_mount_point(share, path, create=True),
            holders=self._find_holders,
            has_client=kernel_has_client,
            added=added_to,
            approval=partial(approval_of_change, kept=self._configs),
            missing_prerequisites=missing_prerequisites,
        )

    def _find_holders(self, path: str) -> list[Holder]:
        with self._probe_exclusion.without_probes(path):
            return find_holders(path)

    @contextlib.contextmanager
    def _ready_to_unmount(self, mount_point: str, token: CancelToken) -> Generator[None]:
        """Wait until this program's own tests and probes have left a mount; keep new probes away."""
        with flushed_before_unmount(mount_point, token), self._probe_exclusion.without_probes(mount_point):
            yield

    def _mount_actions(self) -> MountActions:
        return MountActions(
            mount=self._helper,
            tune=self._tune,
            kept=self._configs,
            saved=self._readaheads,
            settled=self._ready_to_unmount,
            note_asked=self._requested.note,
            start=self._start_helper,
        )

    def _start_helper(
        self, action: str, plan: tuple[str, str, list[tuple[str, dict[str, Any]]]] | None
    ) -> HelperClient:
        """Return a helper for an action; a plan restricts it to one share and its requests."""
        return HelperClient(action) if plan is None else self._approve(action, *plan)

    def _approve(
        self, action: str, share: str, point: str, requests: list[tuple[str, dict[str, Any]]]
    ) -> HelperClient:
        """Return a helper restricted to these requests; polkit asks an administrator at the first call."""
        return HelperClient(action, plan=ApprovedPlan(share, point, requests))

    def _call_mount(
        self, verb: str, helper_args: dict[str, Any], share: str, token: CancelToken, *, approved: bool
    ) -> dict[str, Any]:
        timeout_s = helper_args["timeout_s"] + 10
        if not approved or mount_point.this_caller().uid == 0:
            return self._helper.call(verb, helper_args, token, timeout_s=timeout_s)
        with contextlib.closing(
            self._approve("mount-system", share, helper_args["target"], [(verb, helper_args)])
        ) as helper:
            return helper.call(verb, helper_args, token, timeout_s=timeout_s)

    def _table(self) -> MountTable:
        return self._requested.table()

    def _observed_table(self) -> MountTable:
        """Return the mount table with server health and the records of interrupted changes."""
        table = self._table()
        troubles = self._health.troubles()
        return msgspec.structs.replace(
            table,
            mounts=[with_trouble(mount, troubles) for mount in table.mounts],
            interrupted=self._records.tell(table.mounts),
            now=time.time(),
        )

    def _explain_unmount_error(self, error: AppError, args: UnmountArgs) -> AppError:
        """Return the error of a failed unmount.

        If the server does not respond, the error names the blocked processes and the possible remedies.
        """
        rows = [row for row in self._observed_table().mounts if row.mount_point == args.mount_point]
        if not rows or rows[0].state != "not-responding":
            return error
        return explain_unmount(
            error,
            rows[0],
            time.time(),
            find_waiting_processes(args.mount_point),
            force=args.force,
            lazy=args.lazy,
        )

    def _check_server(self, share: Share, options: MountOptions) -> None:
        """Check that the server accepts connections: it takes seconds, where mount.nfs takes minutes.

        Raises:
            AppError: if the server cannot be reached.
        """
        if (options.get("proto") or "tcp") not in {"tcp", "tcp6"}:
            return
        port = options.get("port") or "0"
        # Only rpcbind knows the port of NFSv3, so rpcbind (port 111) must answer.
        number = int(port) or (111 if options.get("vers") == "3" else 2049)
        error = probe_server(share.host, number)
        if error is not None:
            raise error


def _options_of(line: str) -> str:
    """Return the options field of an fstab line, "" if it has none."""
    fields = line.split()
    return fields[3] if len(fields) > 3 else ""


def _add_recent_server(share: str) -> None:
    """Add the share to the recent servers; log a failure, because the mount itself has succeeded."""
    try:
        record_recent_share(share)
    except (AppError, OSError) as error:
        log.info("%s is not remembered: %s", share, error)


def _find(table: MountTable, mount_point: str) -> Mount:
    for row in table.mounts:
        if row.mount_point == mount_point:
            return row
    raise AppError(ErrorCode.NO_MOUNT_KNOWN, mount_point=mount_point)
