"""The actions, their roles, the verbs of each role and the arguments of each: nothing else is looked at."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from app.helper.errors import Refusal

REQUIRED = object()


class Field(NamedTuple):
    """One argument of a verb: its exact type, its value when it is left out, and what a list is of."""

    type: type
    default: object = REQUIRED
    items: Any = str


_SHARE = {"share": Field(str), "target": Field(str)}
_ENTRY = {**_SHARE, "fstype": Field(str), "options": Field(list), "sha256": Field(str)}
_TEST = {"share": Field(str), "options": Field(list), "timeout_ms": Field(int)}
#: The arguments of each verb.
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
#: Every verb but these two belongs to exactly one role, and each role is a process of its own.
COMMON = frozenset({"hello", "cancel"})
ROLES: dict[str, frozenset[str]] = {
    "mount": frozenset({"mount", "unmount", "holders", "remount"}),
    "try": frozenset({"try"}),
    "persist": frozenset({"add", "change", "remove", "restore"}),
    "units": frozenset({"unit-write", "unit-remove"}),
    "bench": frozenset({"open", "run", "abort", "close"}),
    "tune": frozenset({"tune", "readahead-save", "readahead-remove"}),
}
#: What an administrator authorizes, by the helper's first argument, and the roles that it starts.
_CHANGE = ("mount", "try", "persist", "units", "tune")
ACTIONS: dict[str, tuple[str, ...]] = {
    "mount": ("mount", "try"), "persist": ("persist", "units"), "bench": ("bench",), "tune": ("tune",),
    "apply": _CHANGE,
    "mount-system": ("mount", "try"), "persist-system": ("persist", "units"), "apply-system": _CHANGE,
}  # fmt: skip
#: Those that serve one plan, which an administrator approved with its share and mount point.
SYSTEM_ACTIONS = frozenset({"mount-system", "persist-system", "apply-system"})


def role_of(action: str, verb: str) -> str:
    """Return the role of an action that has a verb, "" for none."""
    return next((role for role in ACTIONS[action] if verb in ROLES[role]), "")


def check_args(action: str, role: str, verb: str, args: dict[str, object]) -> dict[str, object]:
    """Return the arguments, complete, if the action's role has the verb and they fit its schema.

    Raises:
        Refusal: with code usage.
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
