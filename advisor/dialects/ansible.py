"""A task for Ansible's ansible.posix.mount module, which writes fstab and mounts."""

from __future__ import annotations

from advisor.dialects.entry import Entry, Written, control_problem
from advisor.dialects.orchestration import scalar


def write(entry: Entry) -> Written:
    """Return the task: mounted now and at start-up, or, if it is not for start-up, only written to fstab."""
    state = "mounted" if entry.when == "start-up" else "present"
    keys = [
        ("src", str(entry.share)),
        ("path", entry.mount_point),
        ("fstype", "nfs"),
        ("opts", str(entry.options) or "defaults"),
        ("state", state),
    ]
    lines = [f"- name: {_value(f'Mount {entry.share} on {entry.mount_point}')}", "  ansible.posix.mount:"]
    lines += [f"    {key}: {_value(value)}" for key, value in keys]
    problems = control_problem(str(entry.options), "options")
    if entry.when == "on demand":
        problems.append("systemd makes the automount after a daemon-reload, which the task does not do.")
    return Written("\n".join(lines) + "\n", "", [], problems)


def _value(text: str) -> str:
    # Braces would be a template.
    if "{{" in text or "{%" in text or "{#" in text:
        quoted = scalar(text)
        return "!unsafe " + quoted
    return scalar(text)
