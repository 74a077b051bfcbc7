"""Copyright file of a package: the licenses of the program and of every bundled library.

Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from wheel_files import Wheel

#: File in Debian's /usr/share/common-licenses by the license expression of the wheel's metadata.
_COMMON = {
    "GPL-3.0-or-later": "GPL-3",
    "LGPL-2.1-or-later": "LGPL-2.1",
    "LGPL-3.0-only OR GPL-2.0-only OR GPL-3.0-only": "LGPL-3",
}
_HEAD = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: mountwright
Comment:
 The program is GPL-3+. The libraries in /usr/lib/mountwright/lib are those that
 their projects publish as wheels, unchanged but for files that are left out.
 Their licences follow as the wheels name them, with the texts that they carry.

Files: *
Copyright: The Mountwright developers
License: GPL-3+

"""
_QT = """\
 PySide6, Shiboken6 and Qt are used under the LGPL, version 3. Qt includes code
 of others, under the licences that https://doc.qt.io/qt-6/licenses-used-in-qt.html
 lists, among them ICU (Unicode-3.0). The source is at https://download.qt.io/.
"""
_SERVER = """\
Files: usr/lib/mountwright/lab/*
Copyright: the authors of nfs-utils
License: GPL-2
Comment:
 exportfs, nfsdcld and rpc.mountd of the Debian package nfs-kernel-server, unchanged.
 The field Built-Using names the source and its version.

License: GPL-2
 On Debian systems the text is in /usr/share/common-licenses/GPL-2.

"""
_GPL3 = """\
License: GPL-3+
 This program is free software: you can redistribute it and/or modify it under the
 terms of the GNU General Public License as published by the Free Software Foundation,
 either version 3 of the License, or (at your option) any later version.
 .
 On Debian systems the text is in /usr/share/common-licenses/GPL-3.
"""


def text(site: Path, found: list[Wheel], python: str, *, with_lab: bool) -> str:
    """Return the contents of the copyright file.

    Args:
        site: directory of the installed libraries.
        found: the libraries.
        python: version of Python that they are installed for, such as "3.13".
        with_lab: whether the package contains the server programs of the lab.
    """
    parts = [_HEAD, _SERVER if with_lab else ""]
    for wheel in found:
        files = sorted({name.split("/")[0] for name in wheel.files if not name.startswith((".", "bin/"))})
        files = [name for name in files if not name.endswith(".dist-info") and name != "__pycache__"]
        place = f"usr/lib/mountwright/lib/python{python}/site-packages"
        label = f"{wheel.name}-{wheel.version}"
        parts.append(
            "Files:\n"
            + "".join(
                f" {place}/{name}{'' if '.' in name and not name.endswith('.libs') else '/*'}\n"
                for name in files
            )
        )
        parts.append(
            f"Copyright: the authors of {wheel.name}, as the licence below names them\nLicense: {label}\n"
        )
        comment = f" {wheel.name} {wheel.version}, {wheel.home}\n Licence by its metadata: {wheel.licence}\n"
        if wheel.name.lower().startswith(("pyside", "shiboken")):
            comment += _QT
        parts.append(f"Comment:\n{comment}\n")
        parts.append(f"License: {label}\n{_texts(site, wheel)}\n")
    return "".join([*parts, _GPL3])


def _texts(site: Path, wheel: Wheel) -> str:
    if wheel.licence in _COMMON:
        return f" On Debian systems the text is in /usr/share/common-licenses/{_COMMON[wheel.licence]}.\n"
    parts = []
    for name in wheel.licence_files:
        lines = (site / name).read_text(encoding="utf-8", errors="replace").splitlines()
        shown = "".join(f" {line.rstrip()}\n" if line.strip() else " .\n" for line in lines)
        parts.append(f" --- {name.partition('/')[2]}\n .\n{shown}")
    return " .\n".join(parts) or f" {wheel.licence}\n"
