"""Approval gate of a system action: lets through only the requests that an administrator approved.

A system action carries out one plan. The command line, which the polkit prompt shows, contains the share,
the mount point and the digest of the plan. Each role receives the plan itself as its first request. The
role refuses every request that the plan does not contain. The digest is the SHA-256 of the list of requests
as canonical JSON: sorted keys, no blanks, ASCII.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from typing import TYPE_CHECKING, NamedTuple, cast

from app.helper import callers, mountinfo, policy, validate
from app.helper.errors import Refusal
from app.helper.verbs import check_args, role_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.helper.session import Handler, Session

#: Most requests in a plan, and most requests that are carried out. A usual change has eight: one test mount,
#: three changes, and the requests that undo them.
MAX_REQUESTS = 16
#: Lifetime of an approval, s.
APPROVAL_LIFE_S = 600.0
#: Arguments that may differ from the plan: the time limit, and the checksum of the file to change.
_GUARDS = frozenset({"timeout_ms", "sha256"})
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_UNITS = "/etc/systemd/system"


class ApprovedMount(NamedTuple):
    """Approved share, mount point and digest of the plan, from the helper's command line.

    Attributes:
        share: server:/export.
        target: mount point, an absolute path.
        digest: SHA-256 of the plan, 64 hexadecimal digits.
    """

    share: str
    target: str
    digest: str


def read_approved_mount(words: list[str]) -> ApprovedMount:
    """Parse the three arguments after the action: share, mount point and digest.

    Raises:
        ValueError: if the arguments are malformed, or contain a character that a prompt cannot show
            unambiguously. A blank, for example, would make one argument look like two.
    """
    # A graphical polkit agent may interpret <, > and & as markup.
    shown = all(word.isprintable() and not set(" <>&") & set(word) for word in words)
    if len(words) != 3 or not shown or not _DIGEST.match(words[2]):
        raise ValueError("a share, a mount point and the digest of a plan")
    try:
        return ApprovedMount(validate.share(words[0]), validate.target(words[1]), words[2])
    except Refusal as refusal:
        raise ValueError(refusal.message) from None


def digest(requests: list[dict[str, object]]) -> str:
    """Return the SHA-256 of a plan's requests as canonical JSON, in hexadecimal digits."""
    return hashlib.sha256(_canonical(requests).encode("ascii")).hexdigest()


class ApprovalGate:
    """Checks each request of one role against the approved plan before its handler runs.

    Args:
        action: one of SYSTEM_ACTIONS.
        subject: share, mount point and digest that the administrator approved.
        clock: monotonic time, s.
    """

    def __init__(
        self, action: str, subject: ApprovedMount, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._action = action
        self._subject = subject
        self._clock = clock
        self._end = clock() + APPROVAL_LIFE_S
        self._plan: frozenset[str] | None = None
        self._left = MAX_REQUESTS
        self._backups: set[str] = set()

    def handlers(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        """Return the handlers wrapped by the check of the plan, plus the handler of ``plan``."""
        return {"plan": self.plan, **{verb: self._gated(verb, handler) for verb, handler in handlers.items()}}

    def plan(self, args: dict[str, object], session: Session) -> dict[str, object]:
        """Accept the plan: the list of requests that may follow. Only the first call can succeed.

        Raises:
            Refusal: code not-authorized if the plan is not the approved one; code usage if it is malformed or
                a plan was sent before.
        """
        if self._plan is not None:
            raise Refusal("usage", "There is a plan already.")
        self._plan = frozenset()
        requests = cast("list[dict[str, object]]", args["requests"])
        if not 0 < len(requests) <= MAX_REQUESTS:
            raise Refusal("usage", f"A plan has 1 to {MAX_REQUESTS} requests.")
        if digest(requests) != self._subject.digest:
            raise _not_approved("This is not the plan that was approved.")
        read = [self._read(request) for request in requests]
        named = {
            str(whole[name]) for _verb, whole in read for name in ("share", "old_share") if name in whole
        }
        self._check_shares({mountinfo.plain_share(share) for share in named})
        self._plan = frozenset(_request_key(verb, whole) for verb, whole in read)
        # The user may take time to decide whether to keep a change. The approval expires by itself.
        session.holds = True
        return {}

    def _read(self, request: dict[str, object]) -> tuple[str, dict[str, object]]:
        verb, args = request.get("verb"), request.get("args")
        if set(request) != {"verb", "args"} or not isinstance(verb, str) or not isinstance(args, dict):
            raise Refusal("usage", "A request of a plan has a verb and args, and nothing else.")
        if not (role := role_of(self._action, verb)):
            raise Refusal("usage", "A plan names a verb that no role of the action has.")
        whole = check_args(self._action, role, verb, cast("dict[str, object]", args))
        target = self._subject.target
        if any(whole.get(name, target) != target for name in ("target", "old_target")):
            raise _not_approved("The plan names another mount point than the one that was approved.")
        return verb, whole

    def _check_shares(self, named: set[str]) -> None:
        """Check that the plan names only the approved share and shares of this mount point.

        Shares of the mount point are those mounted there, and those in fstab or in its unit. One of the named
        shares, or a share of the mount point, must be the approved one.
        """
        approved = mountinfo.plain_share(self._subject.share)
        present = {mountinfo.plain_share(share) for share in _shares_at(self._subject.target)}
        if not named <= {approved, *present} or approved not in {*named, *present}:
            raise _not_approved("The plan names another share than the one that was approved.")

    def _gated(self, verb: str, handler: Handler) -> Handler:
        def carry_out(args: dict[str, object], session: Session) -> dict[str, object]:
            self._check(verb, args)
            try:
                answer = handler(args, session)
            except Refusal as refusal:
                # A client that waits until the mount is no longer in use repeats its request.
                self._left -= refusal.code != "busy"
                raise
            self._left -= verb != "holders"
            self._backups.add(str(answer.get("backup", "")))
            return answer

        return carry_out

    def _check(self, verb: str, args: dict[str, object]) -> None:
        if self._plan is None or _request_key(verb, args) not in self._plan:
            raise _not_approved("The approved plan has no such request.")
        if self._left <= 0 or self._clock() >= self._end:
            raise _not_approved("The approval is used up.")
        if verb == "restore" and args["backup"] not in self._backups - {""}:
            raise _not_approved("Only a change of this plan is taken back.")


def _not_approved(message: str) -> Refusal:
    return Refusal("not-authorized", message)


def _request_key(verb: str, args: dict[str, object]) -> str:
    open_ = _GUARDS | {"backup"} if verb == "restore" else _GUARDS
    return _canonical([verb, {name: value for name, value in args.items() if name not in open_}])


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _shares_at(path: str) -> set[str]:
    """Return the shares that are mounted at a mount point, or saved for it in fstab or a systemd unit."""
    rows = [row for row in mountinfo.read() if row.mount_point == path and row.fstype in mountinfo.NFS_TYPES]
    kept = {share for share, point in policy.read_fstab() if point == path}
    return {row.source for row in rows} | kept | _unit_share(path)


def _unit_share(path: str) -> set[str]:
    from app.helper import unit_text

    try:
        text = callers.read_small(os.path.join(_UNITS, unit_text.name(path)))  # noqa: PTH118
    except Refusal:
        return set()
    lines = os.fsdecode(text).replace("%%", "%").splitlines()
    return {line.removeprefix("What=") for line in lines if line.startswith("What=")}
