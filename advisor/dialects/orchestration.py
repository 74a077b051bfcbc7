"""Ansible tasks and Kubernetes volumes in YAML: printing.

The task uses the module ansible.posix.mount, which writes fstab and mounts. The volume is a Kubernetes
PersistentVolume with an NFS volume source. Scalars are quoted where YAML 1.1 or 1.2 would not read them as
text.
"""

from __future__ import annotations

import re

from advisor.dialects.entry import DialectText, MountSpec, control_character_problem, split_fstab_items
from advisor.options import MountOptions, catalogue

#: Scalars without quotes: they begin with a letter or slash, and cannot be a number, a date or a key.
_PLAIN_SCALAR = re.compile(r"[A-Za-z/][A-Za-z0-9_./=-]*")
_YAML_KEYWORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_YAML_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def yaml_scalar(text: str) -> str:
    """Return a text as a YAML plain scalar where that is safe, otherwise in double quotes."""
    if _PLAIN_SCALAR.fullmatch(text) and text.lower() not in _YAML_KEYWORDS:
        return text
    return '"' + "".join(_escaped_character(character) for character in text) + '"'


def _escaped_character(character: str) -> str:
    if character in _YAML_ESCAPES:
        return _YAML_ESCAPES[character]
    code = ord(character)
    if character.isprintable():
        return character
    if code < 0x100:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def write_ansible(entry: MountSpec) -> DialectText:
    """Return the entry as an Ansible task: mounted for mounts at boot, else present (only in fstab)."""
    state = "mounted" if entry.when == "start-up" else "present"
    keys = [
        ("src", str(entry.share)),
        ("path", entry.mount_point),
        ("fstype", "nfs"),
        ("opts", str(entry.options) or "defaults"),
        ("state", state),
    ]
    lines = [
        f"- name: {_ansible_value(f'Mount {entry.share} on {entry.mount_point}')}",
        "  ansible.posix.mount:",
    ]
    lines += [f"    {key}: {_ansible_value(value)}" for key, value in keys]
    problems = control_character_problem(str(entry.options), "options")
    if entry.when == "on-demand":
        problems.append("systemd makes the automount after a daemon-reload, which the task does not do.")
    return DialectText("\n".join(lines) + "\n", "", [], problems)


def _ansible_value(text: str) -> str:
    # Jinja2 would expand such braces.
    if "{{" in text or "{%" in text or "{#" in text:
        quoted = yaml_scalar(text)
        return "!unsafe " + quoted
    return yaml_scalar(text)


_NOT_IN_VOLUME_NAME = re.compile(r"[^a-z0-9]+")
_MAX_VOLUME_NAME = 63


def write_kubernetes(entry: MountSpec) -> DialectText:
    """Return the entry as a Kubernetes PersistentVolume, without the mount point, which each pod chooses."""
    inner, outer = split_fstab_items(entry.options)
    read_only = MountOptions(inner).get("ro") == "ro"
    options = [item for item in inner if catalogue().read_item(item)[1] != "ro"]
    untranslated = [f"“{item}” means nothing to Kubernetes." for item in outer]
    untranslated.append(f"The mount point {entry.mount_point}: each container names its own.")
    problems = control_character_problem(",".join(options), "options")
    problems.append("The capacity of 1Gi is only for matching a claim; NFS does not keep to it.")
    if "bg" in options:
        problems.append("The kubelet takes a mount that goes on in the background for done: leave out bg.")
    share = entry.share.absolute
    if share != entry.share:
        problems.append(f"Kubernetes takes absolute paths only: “{entry.share}” became “{share}”.")
    mode = "ReadOnlyMany" if read_only else "ReadWriteMany"
    lines = [
        "apiVersion: v1",
        "kind: PersistentVolume",
        "metadata:",
        f"  name: {yaml_scalar(volume_name(str(entry.share)))}",
        "spec:",
        "  capacity:",
        "    storage: 1Gi",
        "  accessModes:",
        f"    - {mode}",
        "  persistentVolumeReclaimPolicy: Retain",
        '  storageClassName: ""',
    ]
    lines += ["  mountOptions:"] if options else []
    lines += [f"    - {yaml_scalar(item)}" for item in options]
    lines += [
        "  nfs:",
        f"    server: {yaml_scalar(entry.share.host)}",
        f"    path: {yaml_scalar(share.export)}",
    ]
    lines += ["    readOnly: true"] if read_only else []
    return DialectText("\n".join(lines) + "\n", "", untranslated, problems)


def volume_name(share: str) -> str:
    """Return a valid Kubernetes name for a share's volume: at most 63 characters of a-z, 0-9 and hyphen."""
    name = _NOT_IN_VOLUME_NAME.sub("-", share.lower()).strip("-")
    return name[:_MAX_VOLUME_NAME].strip("-") or "nfs"
