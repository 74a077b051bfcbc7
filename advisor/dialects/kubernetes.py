"""A PersistentVolume of Kubernetes with the NFS volume source."""

from __future__ import annotations

import re

from advisor.dialects.entry import Entry, Written, control_problem, split_items
from advisor.dialects.orchestration import scalar
from advisor.options import MountOptions, catalogue

_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")
_MAX_NAME = 63


def write(entry: Entry) -> Written:
    """Return the volume; the pod that claims it says where it is mounted."""
    inner, outer = split_items(entry.options)
    read_only = MountOptions(inner).get("ro") == "ro"
    options = [item for item in inner if catalogue().read_item(item)[1] != "ro"]
    untranslated = [f"“{item}” means nothing to Kubernetes." for item in outer]
    untranslated.append(f"The mount point {entry.mount_point}: each container names its own.")
    problems = control_problem(",".join(options), "options")
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
        f"  name: {scalar(volume_name(str(entry.share)))}",
        "spec:",
        "  capacity:",
        "    storage: 1Gi",
        "  accessModes:",
        f"    - {mode}",
        "  persistentVolumeReclaimPolicy: Retain",
        '  storageClassName: ""',
    ]
    lines += ["  mountOptions:"] if options else []
    lines += [f"    - {scalar(item)}" for item in options]
    lines += ["  nfs:", f"    server: {scalar(entry.share.host)}", f"    path: {scalar(share.export)}"]
    lines += ["    readOnly: true"] if read_only else []
    return Written("\n".join(lines) + "\n", "", untranslated, problems)


def volume_name(share: str) -> str:
    """Return a name for the volume that Kubernetes takes: at most 63 of a-z, 0-9 and the hyphen."""
    name = _NOT_IN_NAME.sub("-", share.lower()).strip("-")
    return name[:_MAX_NAME].strip("-") or "nfs"
