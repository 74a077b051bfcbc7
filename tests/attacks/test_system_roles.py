"""Attacks on the system actions, where polkit lets the caller do everything that it may ask for.

An approval names a share, a mount point and the digest of a plan. It must not let the caller cover system
programs, gain rights, or redirect a path.
"""

import hashlib
import json

import pytest
from path_races import BASES, EVIL, crossroads, race
from rig import EVERYTHING, NOBODY

#: Requests of a race; a session serves sixteen at most.
APPROVED_ATTEMPTS = 90
#: Directories that no user may cover, root included.
FORBIDDEN = [
    "/", "/bin", "/boot", "/boot/efi", "/dev", "/dev/shm", "/etc", "/etc/cron.d", "/etc/systemd/system",
    "/lib", "/proc", "/proc/sys", "/sbin", "/sys", "/sys/fs", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib",
    "/usr/lib/systemd/system", "/usr/libexec/mountwright", "/var", "/run", "/root", "/tmp",
]  # fmt: skip
ALWAYS = {"nosuid", "nodev"}


def mount_of(share, target, *words):
    args = {"share": share, "target": target, "options": list(words), "create": True, "timeout_ms": 5000}
    return {"verb": "mount", "args": args}


def unmount_of(target):
    return {"verb": "unmount", "args": {"target": target, "timeout_ms": 5000}}


def remount_of(target, *words):
    return {"verb": "remount", "args": {"target": target, "options": list(words), "timeout_ms": 5000}}


def add_of(rig, share, target, *words):
    args = {"share": share, "target": target, "fstype": "nfs", "options": list(words),
            "sha256": rig.fstab_sha256()}  # fmt: skip
    return {"verb": "add", "args": args}


def change_of(rig, share, target, *words):
    request = add_of(rig, share, target, *words)
    return {"verb": "change", "args": {**request["args"], "old_share": share, "old_target": target}}


def unit_of(share, target, *words):
    args = {"share": share, "target": target, "options": list(words), "automount": True, "sha256": ""}
    return {"verb": "unit-write", "args": args}


def digest(requests):
    text = json.dumps(requests, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def approve(rig, role, share, target, requests, *, plan=None):
    """Return a session in which these requests were approved; another plan is sent if one is given."""
    session = rig.session(role, share, target, digest(requests))
    if session.try_asking("hello") is not None:
        session.send_plan(requests if plan is None else plan)
    return session


def carry_out(rig, role, share, target, *requests):
    """Have these requests approved, and send each of them."""
    session = approve(rig, role, share, target, list(requests))
    for request in requests:
        args = dict(request["args"])
        if "sha256" in args and request["verb"] in {"add", "change"}:
            args["sha256"] = rig.fstab_sha256()
        session.try_asking(request["verb"], **args)
    session.end()


def words_of(rig, target):
    lines = [line.split() for line in rig.read("/etc/fstab").splitlines()]
    return [set(fields[3].split(",")) for fields in lines if len(fields) > 3 and fields[1] == target]


def test_an_approval_opens_a_place_outside_the_roots(open_rig):
    """Counter-test: approved requests work, so the tests below show refusals and not errors."""
    carry_out(open_rig, "mount-system", "nas:/home", "/opt/x", mount_of("nas:/home", "/opt/x"))
    assert [mount.source for mount in open_rig.mounts_at("/opt/x")] == ["nas:/home"]
    carry_out(
        open_rig, "persist-system", "nas:/home", "/opt/x", add_of(open_rig, "nas:/home", "/opt/x", "nofail")
    )
    assert words_of(open_rig, "/opt/x") == [{"nofail", *ALWAYS}]
    open_rig.mount_as_root("prod:/data", "/srv/data")
    carry_out(open_rig, "mount-system", "prod:/data", "/srv/data", unmount_of("/srv/data"))
    assert not open_rig.mounts_at("/srv/data")


def test_nobody_covers_what_the_system_lives_on(open_rig):
    taken = []
    before = open_rig.run("cat", "/proc/self/mounts").stdout
    for place in FORBIDDEN:
        carry_out(open_rig, "mount-system", EVIL, place, mount_of(EVIL, place))
        carry_out(
            open_rig, "persist-system", EVIL, place, add_of(open_rig, EVIL, place), unit_of(EVIL, place)
        )
        if open_rig.mounts() or open_rig.read("/etc/fstab") or open_rig.units():
            taken.append(place)
            break  # the attack has succeeded
    assert taken == []
    assert open_rig.run("cat", "/proc/self/mounts").stdout == before


def test_root_s_entry_over_the_system_is_no_permission(open_rig):
    open_rig.write("/etc/fstab", f"{EVIL} /usr/bin nfs defaults 0 0\n{EVIL} /etc/x nfs defaults 0 0\n")
    for place in ("/usr/bin", "/etc/x"):
        carry_out(open_rig, "mount-system", EVIL, place, mount_of(EVIL, place))
        open_rig.session("mount").hello().mount(EVIL, place)
    assert open_rig.mounts() == []


@pytest.mark.parametrize(
    ("target", "words"),
    [("/opt/x", ("rw", "nosuid")), ("/opt/x", ("rw", "nodev")), ("/mnt/x", ()),
     *[pytest.param(target, words, marks=pytest.mark.long) for target, words in (
         ("/mnt/x", ("rw",)), ("/opt/x", ("rw",)), ("/mnt/x", ("rw", "nosuid")),
         ("/mnt/x", ("rw", "nodev")), ("/opt/x", ()))]],
)  # fmt: skip
def test_no_approval_lets_programs_of_the_server_raise_rights(open_rig, target, words):
    rig = open_rig
    carry_out(rig, "persist-system", EVIL, target, add_of(rig, EVIL, target, "rw"))
    assert words_of(rig, target) == [{"rw", *ALWAYS}]
    for _ in range(2):
        carry_out(rig, "persist-system", EVIL, target, change_of(rig, EVIL, target, *words))
        assert words_of(rig, target)[0] >= ALWAYS
    carry_out(rig, "persist-system", EVIL, target, unit_of(EVIL, target, *words))
    options = [line for text in rig.units().values() for line in text.splitlines() if "Options=" in line]
    assert all(set(line.partition("=")[2].split(",")) >= ALWAYS for line in options)
    carry_out(rig, "mount-system", EVIL, target, mount_of(EVIL, target))
    (mounted,) = rig.mounts_at(target)
    assert mounted.options >= ALWAYS
    for more in ("suid", "dev", "rw"):
        carry_out(rig, "mount-system", EVIL, target, remount_of(target, more))
    assert rig.mounts_at(target)[0].options >= ALWAYS


class Repeated:
    """Sends the same approved request repeatedly, in new sessions when the limit of one is reached."""

    def __init__(self, rig, share, target, plan):
        self._args = (rig, "mount-system", share, target, plan)
        self._session = None
        self.sessions = 0

    def send(self, request):
        if self._session is None:
            self._session = approve(*self._args)
            self.sessions += 1
            # Without a running helper the test would show nothing.
            assert self._session.process.poll() is None, self._session.end()
        answer = self._session.try_asking(request["verb"], **request["args"])
        if answer is None or answer.get("code") == "not-authorized":
            self._session.end()
            self._session = None


@pytest.mark.parametrize(("base", "verb"), [(BASES[0], "remount"), (BASES[1], "unmount")])
def test_a_swapped_path_leads_an_approval_to_no_other_mount(open_rig, least, base, verb):
    rig = open_rig
    with crossroads(rig, base) as own:
        victims = rig.mounts_at("/opt/v/nfs")
        plan = [unmount_of(own), remount_of(own, "rw", "exec", "symfollow", "atime")]
        approval = Repeated(rig, "nas:/own", own, plan)
        attempts = race(
            rig, base,
            lambda: approval.send(plan[verb == "remount"]),
            lambda: rig.mounts_at("/opt/v/nfs") != victims,
            least._replace(attempts=APPROVED_ATTEMPTS),
        )  # fmt: skip
        assert rig.mounts_at("/opt/v/nfs") == victims, f"after {attempts} requests"


@pytest.mark.parametrize("base", [BASES[1], "/opt/data"])
def test_a_swapped_path_leads_an_approved_mount_nowhere_else(open_rig, least, base):
    rig = open_rig
    rig.make(base, f"{base}/way", f"{base}/way/point", uid=NOBODY)
    rig.make("/opt/v/point")
    rig.run("ln", "-s", "/opt/v", f"{base}/link", uid=NOBODY)
    wanted = [mount_of(EVIL, f"{base}/way/{name}") for name in ("point", "new")]
    approvals = [
        Repeated(rig, EVIL, each["args"]["target"], [each, unmount_of(each["args"]["target"])])
        for each in wanted
    ]

    def request():
        for approval, each in zip(approvals, wanted, strict=True):
            approval.send(each)
            if rig.mounts():
                approval.send(unmount_of(each["args"]["target"]))

    def is_won():
        return len(list(rig.path("/opt/v").iterdir())) > 1 or any(
            mount.point.startswith("/opt/v/") for mount in rig.mounts()
        )

    attempts = race(rig, base, request, is_won, least._replace(attempts=APPROVED_ATTEMPTS))
    assert not is_won(), f"after {attempts} requests"


def test_no_other_request_than_the_approved_ones_is_carried_out(open_rig):
    rig = open_rig
    rig.mount_as_root("prod:/data", "/srv/data", "ro,noexec,nosuid,nodev")
    rig.write("/etc/fstab", "prod:/home /home nfs defaults 0 0\n")
    before, fstab = rig.mounts(), rig.read("/etc/fstab")
    good = [mount_of("nas:/x", "/opt/x")]
    others = [
        mount_of(EVIL, "/opt/x"), mount_of("nas:/x", "/opt/y"), mount_of("nas:/x", "/opt/x", "ro"),
        unmount_of("/srv/data"), remount_of("/srv/data", "rw", "exec"), unmount_of("/opt/x"),
    ]  # fmt: skip
    # A plan that was not approved; then other requests after the approved plan.
    for plan in ([*good, others[3]], others, [], None):
        session = approve(rig, "mount-system", "nas:/x", "/opt/x", good, plan=plan)
        if plan is None:
            session.send_plan(others)
        for other in others:
            session.try_asking(other["verb"], **other["args"])
        session.end()
        assert rig.mounts() == before, plan
    # A plan with another share or mount point than the prompt.
    for requests in ([unmount_of("/srv/data")], [mount_of("nas:/x", "/opt/y")], [mount_of(EVIL, "/opt/x")],
                     [*good, unmount_of("/srv/data")]):  # fmt: skip
        carry_out(rig, "mount-system", "nas:/x", "/opt/x", *requests)
        assert rig.mounts() == before, requests
    entries = [add_of(rig, EVIL, "/opt/y"), {"verb": "remove", "args": {
        "share": "prod:/home", "target": "/home", "sha256": rig.fstab_sha256()}}]  # fmt: skip
    for entry in entries:
        carry_out(rig, "persist-system", "nas:/x", "/opt/x", add_of(rig, "nas:/x", "/opt/x"), entry)
        carry_out(rig, "persist-system", "nas:/x", "/opt/x", entry)
        assert rig.read("/etc/fstab") == fstab
    # Without a plan no request is accepted.
    session = rig.session("mount-system", "nas:/x", "/opt/x", digest(good))
    session.try_asking("mount", **good[0]["args"])
    assert rig.mounts() == before


def test_an_approval_is_used_up(open_rig):
    """A session accepts sixteen requests at most, and one plan."""
    rig = open_rig
    plan = [mount_of("nas:/x", "/opt/x"), unmount_of("/opt/x")]
    session = approve(rig, "mount-system", "nas:/x", "/opt/x", plan)
    done = 0
    for number in range(40):
        request = plan[number % 2]
        session.try_asking(request["verb"], **request["args"])
        done += bool(rig.mounts()) == (number % 2 == 0)
        if bool(rig.mounts()) != (number % 2 == 0):
            break
    assert 2 <= done <= 16
    many = [mount_of("nas:/x", "/opt/x", f"retrans={number}") for number in range(17)]
    rig.run("umount", "-n", "/opt/x", check=False)
    carry_out(rig, "mount-system", "nas:/x", "/opt/x", *many)
    assert not rig.mounts_at("/opt/x")


@pytest.mark.parametrize(
    ("share", "target"),
    [
        ("nas:/x /home mount-system", "/opt/x"), ("nas:/x", "/opt/x /home"), ("nas:/x", "/opt/\u202ex"),
        ("nas:/x\n", "/opt/x"), ("nas:/x", "/opt/\x1b[2Jx"), ("nas:/x", "/opt/../etc"), ("-o:/x", "/opt/x"),
        ("nas:/x", "opt/x"), ("", "/opt/x"), ("nas:/x", ""),
    ],
)  # fmt: skip
def test_the_prompt_shows_what_is_approved_as_it_is(open_rig, share, target):
    carry_out(open_rig, "mount-system", share, target, mount_of(share, target))
    assert open_rig.mounts() == []


@pytest.mark.parametrize("role", sorted(EVERYTHING))
def test_a_role_has_its_own_arguments(open_rig, role):
    """With wrong arguments it does not start, so an ordinary action cannot become a system action."""
    good = digest([mount_of("nas:/x", "/opt/x")])
    for more in ((), ("x",), ("nas:/x", "/opt/x"), ("nas:/x", "/opt/x", good, "x"), ("nas:/x", "/opt/x", "0"),
                 ("nas:/x", "/opt/x", good.upper()), ("mount-system", "nas:/x", "/opt/x", good),
                 ("nas:/x", "/opt/x", good)):  # fmt: skip
        if bool(more) == role.endswith("-system") and (not more or more == ("nas:/x", "/opt/x", good)):
            continue
        session = open_rig.session(role, *more)
        assert session.try_asking("hello") is None, more


def test_what_polkit_refuses_is_not_done(rig):
    for role, request in (
        ("mount-system", mount_of("nas:/x", "/opt/x")),
        ("persist-system", add_of(rig, "nas:/x", "/opt/x")),
    ):
        session = approve(rig, role, "nas:/x", "/opt/x", [request])
        assert session.try_asking(request["verb"], **request["args"]) is None
        assert session.end()[0] == 127
    assert rig.mounts() == []
    assert rig.read("/etc/fstab") == ""


#: Option words that are refused even with an approval.
NEVER = [
    "suid", "dev", "nosuid=0", "user", "users", "owner", "helper=evil", "uhelper=evil", "source=prod:/d",
    "x-systemd.makefs", "a=b,suid", 'a="b', "remount", "bind", "loop", "addr=10.0.0.1",
]  # fmt: skip


def test_an_approval_writes_words_of_root_s(open_rig):
    """Counter-test: an approval permits reserved words, which are in the plan and so in the digest."""
    rig = open_rig
    words = ("ro", "futureopt=7", "x-systemd.requires=a.service", "context=a:b:c")
    carry_out(rig, "persist-system", "nas:/x", "/mnt/x", add_of(rig, "nas:/x", "/mnt/x", *words))
    assert words_of(rig, "/mnt/x") == [{*words, *ALWAYS}]
    unit = {**unit_of("nas:/u", "/mnt/u", "futureopt=7")}
    carry_out(rig, "persist-system", "nas:/u", "/mnt/u", unit)
    assert any("futureopt=7" in text for text in rig.units().values())
    carry_out(rig, "mount-system", "nas:/m", "/mnt/m", mount_of("nas:/m", "/mnt/m", "futureopt=7"))
    assert rig.mounts_at("/mnt/m")


@pytest.mark.parametrize("word", NEVER)
def test_no_approval_gives_what_nobody_is_given(open_rig, word):
    rig = open_rig
    carry_out(rig, "persist-system", EVIL, "/mnt/x", add_of(rig, EVIL, "/mnt/x", "ro", word))
    carry_out(rig, "persist-system", EVIL, "/mnt/x", unit_of(EVIL, "/mnt/x", "ro", word))
    carry_out(rig, "mount-system", EVIL, "/mnt/x", mount_of(EVIL, "/mnt/x", "ro", word))
    assert rig.read("/etc/fstab") == ""
    assert rig.units() == {}
    # Words that only mount(8) and systemd read are not passed to mount.nfs.
    assert not rig.mounts() or word in {"user", "users", "owner", "x-systemd.makefs"}
    assert all(mounted.options >= ALWAYS for mounted in rig.mounts())


def test_no_other_word_than_the_approved_one_is_written(open_rig):
    rig = open_rig
    plan = [add_of(rig, "nas:/x", "/mnt/x", "ro", "futureopt=7")]
    for word in ("context=a", "futureopt=8", "x-systemd.requires=evil.service"):
        session = approve(rig, "persist-system", "nas:/x", "/mnt/x", plan)
        other = add_of(rig, "nas:/x", "/mnt/x", "ro", word)
        assert session.try_asking("add", **other["args"])["code"] == "not-authorized"
        session.end()
    assert rig.read("/etc/fstab") == ""
