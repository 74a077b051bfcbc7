"""State of a mount after the next boot, and options added by nfsmount.conf, in list, header and form."""

import msgspec
import pytest
from driver import Driver
from fake_host import FakeHost, active, configured, mounted

from app.mounts.model import AddedOption, AfterBoot, Mount, MountTable
from app.mounts.requested_options import with_requested_options
from ui.mounts.list_model import BootRole, MountListModel

ADDED = AddedOption(
    item="soft",
    name="hard",
    file="/etc/nfsmount.conf",
    section="NFSMount_Global_Options",
    line=2,
    beats="hard",
)


def saved(after_boot: AfterBoot = "mounted") -> Mount:
    """Return an active mount that is saved in fstab."""
    row = mounted(requested="vers=4.2,nofail")
    entry = configured(row.share, row.mount_point, "vers=4.2,nofail").configured
    return msgspec.structs.replace(row, configured=entry, after_boot=after_boot)


@pytest.mark.parametrize(
    ("mount", "in_list", "in_header"),
    [
        (mounted(), "Until restart", "Mounted · NFS 4.2 · Until restart"),
        (saved(), "At boot", "Mounted · NFS 4.2 · At boot"),
        (saved("on-demand"), "On demand", "Mounted · NFS 4.2 · On demand"),
        (saved("by-hand"), "Manually", "Mounted · NFS 4.2 · Manually"),
    ],
)
def test_list_and_header_show_the_state_after_boot(
    driver: Driver, fake: FakeHost, mount: Mount, in_list: str, in_header: str
) -> None:
    fake.mounts = [mount]
    driver.open()
    model = MountListModel()
    model.apply(MountTable(mounts=[mount]))
    index = model.find(mount.share, mount.mount_point)
    assert index.data(BootRole) == in_list
    assert driver.window._detail._header.state_text(mount) == in_header


def test_the_mount_time_is_shown_only_for_saved_mounts(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted(requested="vers=4.2")]
    driver.open()
    settings = driver.window._detail.settings
    assert settings.request().options == "vers=4.2"
    assert settings._grid.when.combo.isHidden()
    settings.show_mount(saved(), keep_edits=False)
    assert not settings._grid.when.combo.isHidden()
    settings.show_draft("", "")
    assert not settings._grid.when.combo.isHidden()


def test_options_of_nfsmount_conf_are_shown(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [msgspec.structs.replace(mounted(requested="vers=4.2,hard"), added=[ADDED])]
    driver.open()
    text = "soft: line 2 of /etc/nfsmount.conf, section NFSMount_Global_Options. It overrides “hard”."
    assert driver.text_of("added-options") == text
    driver.click("as-text")
    assert driver.sees("added-options")
    fake.mounts = [mounted()]
    driver.window._detail.settings.show_mount(mounted(), keep_edits=False)
    assert not driver.sees("added-options")


def test_the_form_shows_the_flags_in_use_and_offers_no_change(driver: Driver, fake: FakeHost) -> None:
    """utab contains neither of them, and Mountwright itself adds retry=0."""
    options = "ro,nosuid,nodev,noexec,relatime,vers=4.1,acregmin=9,hard,proto=tcp,timeo=600,retrans=2"
    live = active("nas01:/data", options, recorded="vers=4.1,acregmin=9,retry=0")
    row = Mount(mount_point="/mnt/data", share="nas01:/data", state="mounted", active=live)
    fake.mounts = [with_requested_options(row)]
    driver.open()
    settings = driver.window._detail.settings
    assert driver.text_of("options") == "vers=4.1,acregmin=9,ro,noexec"
    assert not settings.dirty
