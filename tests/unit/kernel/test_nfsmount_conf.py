"""The files of nfsmount.conf are read in order, and named as the cause of options in use."""

from pathlib import Path

import pytest

from advisor.options import MountOptions
from app.kernel.nfsmount_conf import added_to, read_settings
from app.mounts.model import Active
from app.mounts.option_comparison import compare_options
from app.text.message import message_text


@pytest.fixture
def root(tmp_path: Path) -> str:
    folder = tmp_path / "etc" / "nfsmount.conf.d"
    folder.mkdir(parents=True)
    (tmp_path / "etc" / "nfsmount.conf").write_text("[ NFSMount_Global_Options ]\nSoft=True\ntimeo=10\n")
    (folder / "b.conf").write_text('[ NFSMount_Global_Options ]\ntimeo=30\n[ Server "[::1]" ]\nacl=False\n')
    (folder / "a.conf").write_text("[ NFSMount_Global_Options ]\ntimeo=20\nrsize=1k\n")
    (folder / "ignored").write_text("[ NFSMount_Global_Options ]\ntimeo=40\n")
    return str(tmp_path)


def test_files_are_read_in_the_order_of_mount(root: str) -> None:
    assert [setting.file for setting in read_settings(root)] == [
        "/etc/nfsmount.conf",
        "/etc/nfsmount.conf",
        "/etc/nfsmount.conf.d/a.conf",
        "/etc/nfsmount.conf.d/a.conf",
        "/etc/nfsmount.conf.d/b.conf",
        "/etc/nfsmount.conf.d/b.conf",
    ]
    found = added_to("[::1]:/a", "/home", MountOptions(), root)
    assert [one.item for one in found] == ["noacl", "soft", "timeo=30", "rsize=1024"]
    assert read_settings("/nowhere") == []


def test_the_file_is_named_as_the_cause(root: str) -> None:
    asked = MountOptions.parse("hard,vers=4.2")
    live = Active(mount_id=1, device="0:1", share="nas:/a", fstype="nfs4", nconnect=1,
                  options="rw,vers=4.2,rsize=1024,soft,proto=tcp,timeo=600")  # fmt: skip
    values = {
        one.name: message_text(one.note)
        for one in compare_options(asked, live, added_to("nas:/a", "/home", asked, root))
    }
    assert values["hard"] == "Line 2 of /etc/nfsmount.conf adds “soft”, which overrides “hard”."
    assert values["rsize"] == "Line 3 of /etc/nfsmount.conf.d/a.conf adds “rsize=1024”."
    assert values["timeo"] == ""  # the value in use differs from the file
