"""Actions, roles and verbs of the helper, and the arguments of each verb; all others are refused."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from app.helper.errors import Refusal

#: Default of an argument that must be present.
REQUIRED = object()


class Field(NamedTuple):
    """One argument of a verb.

    Attributes:
        type: exact type of the value.
        default: value of a missing argument; REQUIRED if it must be present.
        items: exact type of the elements of a list.
    """

    type: type
    default: object = REQUIRED
    items: Any = str


_SHARE = {"share": Field(str), "target": Field(str)}
_ENTRY = {**_SHARE, "fstype": Field(str), "options": Field(list), "sha256": Field(str)}
_TEST = {"share": Field(str), "options": Field(list), "timeout_ms": Field(int)}
#: Arguments of each verb, in the order of the audit line.
SCHEMAS: dict[str, dict[str, Field]] = {
    "hello": {},
    "cancel": {"id": Field(str)},
    "plan": {"requests": Field(list, items=dict)},
    "mount": {**_SHARE, "options": Field(list), "create": Field(bool), "hide": Field(bool, default=False),
              "timeout_ms": Field(int)},
    "unmount": {"target": Field(str), "force": Field(bool, default=False), "lazy": Field(bool, default=False),
                "timeout_ms": Field(int)},
    "holders": {"target": Field(str)},
    "try": {**_TEST, "names": Field(bool, default=False)},
    "open": {**_TEST, "read_ahead_kb": Field(int, default=-1)},
    "run": {"argv": Field(list), "socket": Field(str)},
    "abort": {},
    "close": {"timeout_ms": Field(int)},
    "remount": {"target": Field(str), "options": Field(list), "timeout_ms": Field(int)},
    "add": _ENTRY,
    "change": {"old_share": Field(str), "old_target": Field(str), **_ENTRY},
    "remove": {**_SHARE, "sha256": Field(str)},
    "unit-write": {**_SHARE, "options": Field(list), "automount": Field(bool), "sha256": Field(str),
                   "idle_s": Field(int, default=-1)},
    "unit-remove": {"target": Field(str), "sha256": Field(str)},
    "tune": {"target": Field(str), "read_ahead_kb": Field(int)},
    "readahead-save": {"target": Field(str), "read_ahead_kb": Field(int), "sha256": Field(str)},
    "readahead-remove": {"target": Field(str), "sha256": Field(str)},
    "restore": {"backup": Field(str), "sha256": Field(str)},
}  # fmt: skip
#: Verbs of all roles. Every other verb belongs to exactly one role, except "plan" of system actions.
COMMON = frozenset({"hello", "cancel"})
ROLES: dict[str, frozenset[str]] = {
    "mount": frozenset({"mount", "unmount", "holders", "remount"}),
    "try": frozenset({"try"}),
    "persist": frozenset({"add", "change", "remove", "restore"}),
    "units": frozenset({"unit-write", "unit-remove"}),
    "bench": frozenset({"open", "run", "abort", "close"}),
    "tune": frozenset({"tune", "readahead-save", "readahead-remove"}),
}
_CHANGE = ("mount", "try", "persist", "units", "tune")
#: Roles that each action starts; polkit authorizes an action, which is the helper's first argument.
ACTIONS: dict[str, tuple[str, ...]] = {
    "mount": ("mount", "try"), "persist": ("persist", "units"), "bench": ("bench",), "tune": ("tune",),
    "apply": _CHANGE,
    "mount-system": ("mount", "try"), "persist-system": ("persist", "units"), "apply-system": _CHANGE,
}  # fmt: skip
#: Actions that carry out one plan, which an administrator approves with its share and mount point.
SYSTEM_ACTIONS = frozenset({"mount-system", "persist-system", "apply-system"})


def role_of(action: str, verb: str) -> str:
    """Return the role of an action that serves a verb, "" if none does."""
    return next((role for role in ACTIONS[action] if verb in ROLES[role]), "")


def check_args(action: str, role: str, verb: str, args: dict[str, object]) -> dict[str, object]:
    """Check the arguments of a request against the schema of its verb.

    Args:
        action: action that polkit authorized.
        role: role of this process.
        verb: verb of the request.
        args: arguments of the request.

    Returns:
        the arguments with the defaults filled in.

    Raises:
        Refusal: code usage if the role does not serve the verb, or the arguments do not match.
    """
    if verb not in ROLES[role] | COMMON and not (verb == "plan" and action in SYSTEM_ACTIONS):
        raise Refusal("usage", f"The role “{role}” has no such verb.")
    schema = SCHEMAS[verb]
    if not set(args) <= set(schema):
        raise Refusal("usage", "There is an unknown argument.")
    complete: dict[str, object] = {}
    for name, wanted in schema.items():
        value = args.get(name, wanted.default)
        # By exact type: for isinstance, True is an int.
        if value is REQUIRED or type(value) is not wanted.type:
            raise Refusal("usage", f"The argument “{name}” is missing or of the wrong type.")
        if isinstance(value, list) and not all(type(i) is wanted.items for i in cast("list[object]", value)):
            raise Refusal("usage", f"The argument “{name}” is a list with something else in it.")
        complete[name] = value
    return complete
