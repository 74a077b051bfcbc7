"""The gate of a system action: one share, one mount point and the requests that an administrator approved.

The system actions serve one plan. The command line, which polkit can show, has the share, the mount
point and the digest of the plan. The plan itself comes to each role as its first request, before any
role begins, and nothing that it does not name is carried out. The digest is SHA-256 of the list of
requests as canonical JSON: sorted keys, no blanks, ASCII.
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

#: Requests of a plan, and requests carried out. A change has eight: a try, three deeds, and their way back.
MAX_REQUESTS = 16
#: How long an approval lasts.
APPROVAL_LIFE_S = 600.0
#: Not compared: how long a request may take, and guards that refuse where a file has changed meanwhile.
_GUARDS = frozenset({"timeout_ms", "sha256"})
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_UNITS = "/etc/systemd/system"


class ApprovedMount(NamedTuple):
    """What the command line says, and so the prompt: see the module."""

    share: str
    target: str
    digest: str


def read_approved_mount(words: list[str]) -> ApprovedMount:
    """Return what the arguments behind the role say.

    Raises:
        ValueError: if they do not say it in the one way that a prompt shows as it is: a blank would let one
            of them look like two.
    """
    # A graphical agent may read the rest as markup.
    shown = all(word.isprintable() and not set(" <>&") & set(word) for word in words)
    if len(words) != 3 or not shown or not _DIGEST.match(words[2]):
        raise ValueError("a share, a mount point and the digest of a plan")
    try:
        return ApprovedMount(validate.share(words[0]), validate.target(words[1]), words[2])
    except Refusal as refusal:
        raise ValueError(refusal.message) from None


def digest(requests: list[dict[str, object]]) -> str:
    """Return the digest of a plan."""
    return hashlib.sha256(_canonical(requests).encode("ascii")).hexdigest()


class ApprovalGate:
    """The plan, and the gate to the handlers of one role.

    Args:
        action: a system action.
        subject: what was approved.
        clock: seconds that never go back.
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
        """Return the handlers behind the gate, and that of ``plan``."""
        return {"plan": self.plan, **{verb: self._gated(verb, handler) for verb, handler in handlers.items()}}

    def plan(self, args: dict[str, object], session: Session) -> dict[str, object]:
        """Take the requests that may follow. It is taken once, right or wrong.

        Raises:
            Refusal: not-authorized if it is not the plan that was approved; usage if it is none.
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
        # The person may think about a change before keeping it, and an approval ends by itself.
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
        """Check that only the approved share comes to the mount point, or what is there already."""
        approved = mountinfo.plain_share(self._subject.share)
        there = {mountinfo.plain_share(share) for share in _shares_at(self._subject.target)}
        if not named <= {approved, *there} or approved not in {*named, *there}:
            raise _not_approved("The plan names another share than the one that was approved.")

    def _gated(self, verb: str, handler: Handler) -> Handler:
        def carry_out(args: dict[str, object], session: Session) -> dict[str, object]:
            self._check(verb, args)
            try:
                answer = handler(args, session)
            except Refusal as refusal:
                # Who waits until nobody uses the mount asks again.
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
    """Return the shares that are mounted or kept at a mount point now."""
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
