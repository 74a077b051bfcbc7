"""Errors: a code, a sentence and a hint for each failure that the user may see.

A code begins with its kind (:class:`app.errors.ErrorKind`), on which logic decides. Placeholders name the
parameters of the error; a format such as {size:size} is one of :mod:`app.text.message`.
"""

from __future__ import annotations

from enum import StrEnum

from app.text.translate import mark as _


class ErrorCode(StrEnum):
    """A failure: its code, its sentence with the likely cause, and how to solve it.

    Attributes:
        sentence: sentence with placeholders.
        hint: advice with placeholders, "" for none.
    """

    sentence: str
    hint: str

    def __new__(cls, code: str, sentence: str, hint: str = "") -> ErrorCode:
        """Make a member whose value is the code."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        member.hint = hint
        return member

    @classmethod
    def from_code(cls, code: str) -> ErrorCode | None:
        """Return the member of a code, None for none."""
        return next((member for member in cls if str(member) == code), None)

    # discovery
    ASK_TOO_SLOW = (
        "server-silent.ask-too-slow",
        _("{about} could not be asked in time."),
        _("This computer is very busy. Try again."),
    )
    DEADLINE_OUT_OF_RANGE = (
        "usage.deadline-out-of-range",
        _("{seconds:g} seconds is not a valid deadline."),
        _("Up to {limit:g} are allowed."),
    )
    QUERY_PROCESS_ENDED = (
        "internal.query-process-ended",
        _("The process that asks servers ended without an answer."),
        _("This is a bug. Please report it with the details."),
    )
    HOST_INVALID = (
        "share-invalid.host-invalid",
        _("“{host}” is not a server's name or address: {problem}"),
        _("Write a name such as nas01, an address such as 10.0.0.7 or 2001:db8::7, or a whole share."),
    )
    HOST_NAME_INVALID = (
        "share-invalid.host-name-invalid",
        _("“{host}” is not a valid international host name."),
        _("Check its spelling, or use the server's address."),
    )
    PORT_OUT_OF_RANGE = (
        "usage.port-out-of-range",
        _("{number} is not a port."),
        _("Ports go from 1 to 65535."),
    )
    NO_MOUNT_SERVICE = (
        "version-unsupported.no-mount-service",
        _("The server offers no MOUNT service: it lists no exports."),
        _("That is usual for a server of version 4 only."),
    )
    NO_RPCBIND = (
        "server-refused.no-rpcbind",
        _("The server runs no rpcbind, so its list of exports cannot be found."),
        _(
            "That is usual for a server of version 4 only. If you know the port of its MOUNT service, "
            "name it."
        ),
    )
    NO_NETWORK_TO_LISTEN = (
        "unavailable.no-network-to-listen",
        _("Servers that announce themselves cannot be looked for: there is no network to listen to."),
    )
    NO_ANSWER = (
        "server-silent.no-answer",
        _("No answer within {seconds:.2g} seconds."),
        _("It is switched off or very slow, or a firewall drops the packets."),
    )
    ANSWER_GARBLED = (
        "server-garbled.answer-garbled",
        _("The server's answer cannot be read: it does not follow the protocol."),
        _("Another service may use this port."),
    )
    UNREACHABLE = (
        "server-silent.unreachable",
        _("The server cannot be reached."),
        _("Check the cable or the wireless network, the VPN, and the server's address."),
    )
    AUTHENTICATION_REQUIRED = (
        "access-denied.authentication-required",
        _("The server refuses to answer an unauthenticated question."),
        _("It may want Kerberos, or a privileged port. A mount is made from one, and may well work."),
    )
    CONNECTION_REFUSED = (
        "server-refused.connection-refused",
        _("The server refuses the connection: nothing listens there."),
    )
    CONNECTION_CLOSED = (
        "server-refused.connection-closed",
        _("The server closed the connection."),
    )
    ADDRESS_UNUSABLE = (
        "server-unknown.address-unusable",
        _("“{address}” is not an address that can be used here."),
        _("Check its spelling, and the interface behind % for an address that begins with fe80."),
    )
    CLOSED_WITHOUT_ANSWER = (
        "server-refused.closed-without-answer",
        _("The server closed the connection instead of answering."),
        _("It may answer only some addresses, or another service may use this port."),
    )
    RPCBIND_PORT_IMPOSSIBLE = (
        "server-garbled.rpcbind-port-impossible",
        _("The server's rpcbind names the impossible port {port}."),
    )
    NETWORK_NOT_ATTACHED = (
        "unavailable.network-not-attached",
        _("This computer is not attached to the network {network}."),
        _("Only networks that it is attached to are scanned. Look again which ones there are."),
    )
    NO_NETWORK_TO_SCAN = (
        "unavailable.no-network-to-scan",
        _("This computer is attached to no network with IPv4 addresses that could be scanned."),
        _("Connect it to a network, or enter the server's name or address."),
    )

    # facts
    SHARE_SYNTAX = (
        "share-invalid.share-syntax",
        _("“{share}” is not an NFS share: {problem}"),
        _("Write it as server:/export, for example nas01:/export/home or [2001:db8::7]:/data."),
    )

    # mounts
    EXPORT_WITHOUT_SLASH = (
        "share-invalid.export-without-slash",
        _("“{share}” cannot be mounted from here: its export does not begin with a slash."),
        _(
            "Write it as {absolute}. NFS version 4 and most servers take both for the same export. Only "
            "mount(8), as root, takes it as it is."
        ),
    )

    # files
    NO_SHELL_TO_WRITE = (
        "unavailable.no-shell-to-write",
        _("There is no shell on this computer to write the file with."),
    )
    FILE_NOT_WRITTEN = (
        "io.file-not-written",
        _("{path} could not be written."),
        _("An existing file is not replaced, and the directory must exist and be yours."),
    )
    HEAD_MISSING = (
        "unavailable.head-missing",
        _("The program head, which reads the file, is not installed."),
    )
    FILE_NOT_READ = (
        "io.file-not-read",
        _("{path} could not be read."),
        _("The file must be there, and you must be allowed to read it."),
    )
    FILE_TOO_LONG = (
        "usage.file-too-long",
        _("{path} is longer than {limit} bytes."),
    )
    PATH_NOT_ABSOLUTE = (
        "usage.path-not-absolute",
        _("“{path}” is not an absolute path."),
    )
    DIRECTORY_SILENT = (
        "not-responding.directory-silent",
        _("The directory of {path} did not answer in time."),
        _("It may be on a server that does not respond. {instead}"),
    )
    NO_SHELL = (
        "unavailable.no-shell",
        _("This computer has no shell."),
    )

    # helper_client
    TEST_MOUNT_GONE = (
        "not-mounted.test-mount-gone",
        _("The test mount is gone: the time that one authorization allows for tests is over."),
        _("Start the test again."),
    )
    NAME_NOT_UTF8_FOR_HELPER = (
        "usage.name-not-utf8-for-helper",
        _("A name in the request is not UTF-8, so it cannot be passed to the helper."),
        _("Use mount and umount in a terminal for this one."),
    )
    HELPER_ENDED_EARLY = (
        "helper-failed.helper-ended-early",
        _("The helper ended before it answered."),
        _("Run “{command}” again if the program was updated."),
    )
    PKEXEC_NOT_INSTALLED = (
        "pkexec-missing.pkexec-not-installed",
        _("Administrator permission cannot be requested: the program pkexec is not installed."),
        _(
            "Install the package pkexec (Debian 12, Ubuntu 24.04 and later), policykit-1 (earlier ones) "
            "or polkit (Fedora, openSUSE, Arch)."
        ),
    )
    AUTHORIZATION_DISMISSED = (
        "not-authorized.authorization-dismissed",
        _("Nothing was changed: the request for administrator permission was dismissed."),
        _("Try again and enter the password of an administrator."),
    )
    NO_POLKIT_AGENT = (
        "polkit-agent-missing.no-polkit-agent",
        _(
            "Administrator permission cannot be requested: no polkit agent runs in this session to ask for "
            "the password."
        ),
        _(
            "Start the polkit agent of your desktop (for example polkit-kde-authentication-agent-1, "
            "polkit-gnome or lxpolkit), or run the program as root."
        ),
    )
    POLKIT_SILENT = (
        "not-authorized.polkit-silent",
        _("Administrator permission cannot be requested: the polkit service does not answer."),
        _("Check that the package polkitd is installed and the system bus runs (systemctl status polkit)."),
    )
    AUTHORIZATION_REFUSED = (
        "not-authorized.authorization-refused",
        _("Administrator permission was refused."),
        _(
            "polkit allows this to administrators in a local session. Check the password, or ask an "
            "administrator for the action org.mountwright.{action}."
        ),
    )
    HELPER_WRITABLE = (
        "helper-untrusted.helper-writable",
        _("The helper is not started, because users other than root could change “{path}”."),
        _("Let an administrator remove it and run “{command}” again."),
    )
    HELPER_NOT_INSTALLED = (
        "helper-missing.helper-not-installed",
        _("The privileged helper, which mounts shares as root, is not installed."),
        _("Run “{command}” once in a terminal, or let an administrator do so."),
    )

    # links
    LINK_SYNTAX = (
        "link-invalid.link-syntax",
        _("The link “{text}” is wrong: {problem}"),
        _("Give one of {names}, one of them with changes (wan,loss=1%), or spell it out: {example}."),
    )

    # mounts
    CHANGE_SERVER_SILENT = (
        "not-responding.change-server-silent",
        _("The server of {mount_point} does not answer, so the mount was left alone. Nothing was changed."),
        _("Try again when the server is back, or change only what takes effect at the next boot."),
    )
    READAHEAD_DIFFERS = (
        "io.readahead-differs",
        _("The readahead of {mount_point} is {used_kb} KiB, not {requested_kb} KiB: something else sets it."),
        _("Look for a rule of udev, or nfs.conf of nfs-utils, that sets read_ahead_kb."),
    )
    CONFIG_MAY_BE_CHANGED = (
        "helper-failed.config-may-be-changed",
        _("{names} may have been changed: it is not what it was."),
    )
    MOUNT_GONE = (
        "not-mounted.mount-gone",
        _("{mount_point} is no longer mounted."),
    )
    MOUNT_IN_USE = (
        "busy.mount-in-use",
        _("{mount_point} is in use, so it was not unmounted."),
        _("Close the programs that use it, or choose what to do with them."),
    )
    OPTIONS_NOT_RESTORABLE = (
        "option-rejected.options-not-restorable",
        _(
            "{mount_point} has options that this program could not give it again if the change failed: "
            "{problem} Nothing was changed."
        ),
        _("Save the change for the next boot, or unmount it manually first."),
    )
    MOVE_NEEDS_APPROVAL = (
        "mount-point-restricted.move-needs-approval",
        _("A mount is not moved where an administrator has to approve its mount point by itself."),
        _("Remove {old} first, and then set up {new}."),
    )
    NAME_CANNOT_BE_APPROVED = (
        "mount-point-restricted.name-cannot-be-approved",
        _(
            "{reasons} An administrator cannot approve a name with a blank, “<”, “>” or “&”: it could be "
            "misread."
        ),
        _("Choose other names, or make the change as root."),
    )
    HOME_LINK_NOT_MADE = (
        "path-missing.home-link-not-made",
        _("The link “{path}” could not be made: {reason}."),
        _("Make room for it, then run: ln -s {target} {path}"),
    )
    IMPORT_FROM_AUTOFS = (
        "fstab-refused.import-from-autofs",
        _("It comes from a map of autofs, and Mountwright writes no maps."),
        _("Save it in fstab or in systemd units instead, or copy the map."),
    )
    IMPORT_NOT_SAVED_BEFORE = (
        "fstab-refused.import-not-saved-before",
        _("It was mounted and not saved on the other computer."),
        _("Choose where to save it: in fstab or in systemd units."),
    )
    IMPORT_CHOICE_UNKNOWN = (
        "usage.import-choice-unknown",
        _("A choice is none of the entries."),
    )
    IMPORT_ENTRY_CHANGED = (
        "fstab-changed.import-entry-changed",
        _("What is saved for it was changed since it was shown. Nothing was written."),
        _("Look at the import again."),
    )
    NO_FOREIGN_ENTRY = (
        "not-mounted.no-foreign-entry",
        _("No unit of others and no map of autofs configures {mount_point}."),
        _("“list” shows the mounts of this computer and where they are configured."),
    )
    FOREIGN_ENTRY_AMBIGUOUS = (
        "usage.foreign-entry-ambiguous",
        _("Line {line} of {origin} stands for more than one mount."),
        _("Import a mount of it while it is mounted, or save a new mount with its share."),
    )
    UNIT_OF_OTHERS = (
        "fstab-refused.unit-of-others",
        _("The unit {origin} was not made by this program, so it is not written over."),
        _("Import the mount into fstab, or edit that unit and have systemd read it again."),
    )
    AUTOFS_MOUNTS_IT = (
        "fstab-refused.autofs-mounts-it",
        _(
            "autofs mounts {mount_point} whenever a program enters it, with the options that line {line} "
            "of {origin} has."
        ),
        _(
            "Change them in that file. Or import the mount without mounting it now, and remove it from "
            "the map."
        ),
    )
    NO_FSTAB_ENTRY = (
        "not-mounted.no-fstab-entry",
        _("fstab has no NFS entry for {mount_point}."),
        _("“list” shows the mounts of this computer and where they are configured."),
    )
    NEXT_BOOT_NEEDS_SAVING = (
        "usage.next-boot-needs-saving",
        _("A change for the next boot needs a place to be saved."),
        _("Save the mount in fstab or in systemd units."),
    )
    KEEP_TIME_OUT_OF_RANGE = (
        "usage.keep-time-out-of-range",
        _("The time to confirm a change is {keep_s:g} s, which is out of range."),
        _("Choose 0 to {limit:g} seconds. With 0, no confirmation is needed."),
    )
    READAHEAD_OUT_OF_RANGE = (
        "usage.readahead-out-of-range",
        _("The readahead is {read_ahead_kb} KiB, which is out of range."),
        _("Choose 0 to {limit} KiB."),
    )
    NO_READAHEAD_TO_SAVE = (
        "usage.no-readahead-to-save",
        _("The readahead to save for {mount_point} is missing: nothing is mounted, and none is given."),
        _("Give the readahead in KiB, with --read-ahead on the command line."),
    )
    SERVER_NAME_UNKNOWN = (
        "server-unknown.server-name-unknown",
        _("The server name “{host}” is not known: it does not resolve to an address."),
        _("Check the spelling and the name service (getent hosts NAME), or use the server's address."),
    )
    SERVER_UNREACHABLE = (
        "server-silent.server-unreachable",
        _("The server “{host}” cannot be reached."),
        _("Check the cable or the wireless network, the VPN, and the server's address."),
    )
    NAME_SERVICE_TIMEOUT = (
        "server-unknown.name-service-timeout",
        _("The name service did not answer within {timeout_s:g} seconds when “{host}” was looked up."),
        _("Check the network and the name servers, or use the server's address."),
    )
    SERVER_PORT_REFUSED = (
        "server-refused.server-port-refused",
        _("The server “{host}” is up but refused the connection: no NFS service listens on port {port}."),
        _(
            "Start the NFS server on it (systemctl start nfs-server), check the option port= and its "
            "firewall."
        ),
    )
    SERVER_TIMEOUT = (
        "server-silent.server-timeout",
        _(
            "The server “{host}” did not answer within {timeout_s:g} seconds. It is switched off, or a "
            "firewall drops the packets."
        ),
        _("Check that it is up (ping {host}) and that TCP port {port} is open between it and this computer."),
    )
    READAHEAD_RULE_FOREIGN = (
        "fstab-refused.readahead-rule-foreign",
        _("{path} is not as this program wrote it, so it is left alone."),
        _("If it is not needed: sudo rm {path}"),
    )
    READAHEAD_RULE_UNREADABLE = (
        "fstab-refused.readahead-rule-unreadable",
        _("{path} cannot be read."),
        _("As root, look at {path}."),
    )
    READAHEAD_RULE_CHANGED = (
        "fstab-changed.readahead-rule-changed",
        _("The readahead saved for {mount_point} was changed since it was shown."),
        _("Look at the change again and repeat it."),
    )
    UNITS_CHANGED = (
        "fstab-refused.units-changed",
        _("The units of {mount_point} were changed by another program or user, so they are left unchanged."),
        _("Remove them, and save the mount here again."),
    )
    UNIT_FOREIGN = (
        "fstab-refused.unit-foreign",
        _("The unit “{path}” was not made by this program, so it is not changed."),
        _("Change it where it was made, or save the mount in fstab."),
    )

    # service
    WORKLOAD_UNKNOWN = (
        "usage.workload-unknown",
        _("There is no workload “{workload}”."),
        _("Choose one of {workloads:list}."),
    )
    SERVER_KIND_UNKNOWN = (
        "usage.server-kind-unknown",
        _("There is no kind of server “{server}”."),
        _("Choose one of {server_kinds:list}."),
    )
    ADAPTER_UNKNOWN = (
        "usage.adapter-unknown",
        _("The adapter “{text}” needs no values of its own, or it is not known here."),
        _("Adapters with values of their own: {names}. For another one describe its link (--link)."),
    )
    NOTHING_TO_TRY = (
        "usage.nothing-to-try",
        _("Nothing can be tried on {mount_point}."),
        _("Mount the share, and include a recommendation."),
    )
    NOTHING_MOUNTED_THERE = (
        "not-mounted.nothing-mounted-there",
        _("Nothing is mounted at {mount_point}."),
    )
    TRIAL_TESTS_TOO_SLOW = (
        "not-responding.trial-tests-too-slow",
        _("The tests with the new settings did not end in time."),
    )
    NAME_NOT_UTF8_FOR_AGENT = (
        "usage.name-not-utf8-for-agent",
        _("A name in the request is not UTF-8, so it cannot be used."),
        _("Use a name of plain characters."),
    )
    FRESH_MOUNT_IN_USE = (
        "unavailable.fresh-mount-in-use",
        _("A mount of this computer is not remounted for a test: it may be in use."),
        _("Choose another way to bypass the cache."),
    )
    FRESH_MOUNT_NOT_OURS = (
        "unavailable.fresh-mount-not-ours",
        _("Only an NFS mount that this test made can be remounted for the read."),
        _("Choose another way to bypass the cache."),
    )
    REQUEST_TOO_LONG = (
        "protocol.request-too-long",
        _("A request line is too long."),
        _("The limit is {limit} MiB. An experiment with so many trials cannot continue. Start a new one."),
    )
    VERB_UNKNOWN = (
        "usage.verb-unknown",
        _("There is no verb “{verb}”."),
    )
    VERB_NOT_ON_HOST = (
        "unavailable.verb-not-on-host",
        _("“{verb}” is not available on this host."),
    )
    ARGUMENTS_WRONG = (
        "usage.arguments-wrong",
        _("Wrong arguments for “{verb}”: {problem}"),
    )
    REQUEST_ID_IN_USE = (
        "protocol.request-id-in-use",
        _("A request with the id {number} is still running."),
    )
    NOT_A_REQUEST = (
        "protocol.not-a-request",
        _("Not a request: {problem}"),
    )
    NO_MOUNT_KNOWN = (
        "not-mounted.no-mount-known",
        _("There is no NFS mount at {mount_point}, neither active nor in fstab."),
        _("“list” shows the mounts of this computer."),
    )
    MOUNT_NFS_NOT_INSTALLED = (
        "mount-nfs-missing.mount-nfs-not-installed",
        _("This computer cannot mount NFS: the program mount.nfs is not installed."),
        _("Install the package nfs-common (Debian, Ubuntu) or nfs-utils (Fedora, openSUSE, Arch)."),
    )
    CHANGE_RUNNING = (
        "busy.change-running",
        _("Another change is being made at this moment."),
        _("Wait until it is done, or answer its question."),
    )
    NO_CHANGE_WAITS = (
        "usage.no-change-waits",
        _("No change with this number waits for confirmation."),
        _("It has ended. The list shows what is mounted now."),
    )
    NO_NFS_MOUNT = (
        "not-mounted.no-nfs-mount",
        _("No NFS mount is at “{mount_point}”."),
    )

    # stats
    NO_SHARE_MOUNTED = (
        "not-mounted.no-share-mounted",
        _("No NFS share is mounted at {mount_point}."),
        _("It may have been unmounted since then. Mount it and try again."),
    )

    # cli
    FORGET_TAKES_NO_SERVER = (
        "usage.forget-takes-no-server",
        _("“--forget” takes no server: it empties the list of servers used recently."),
        _("Use it without a server: mountwright discover --forget."),
    )
    SCAN_TAKES_NO_SERVER = (
        "usage.scan-takes-no-server",
        _("“--scan” takes no server: it looks for servers."),
        _("Give it alone: mountwright discover --scan."),
    )
    VARY_SYNTAX = (
        "usage.vary-syntax",
        _("“--vary {text}” cannot be varied: {problem}"),
        _("Write an option or a factor and its levels: --vary rsize=64k,1M --vary read_ahead_kb=128,4096."),
    )
    SEARCH_WITHOUT_RESULT = (
        "usage.search-without-result",
        _("No trial of search {number} has a result."),
        _("Resume it: “experiment resume {number}”."),
    )
    RECIPE_SOURCE_UNCLEAR = (
        "usage.recipe-source-unclear",
        _("A recipe needs a file, or the settings to vary and a name."),
        _("Write “experiment add FILE”, or “experiment add --vary NAME=LEVELS --name NAME”."),
    )
    SIZE_TOO_SMALL = (
        "usage.size-too-small",
        _("The size of the file must be at least one byte."),
    )
    REPEATS_NOT_IN_RANGE = (
        "usage.repeats-not-in-range",
        _("The number of repeats must be between 1 and {limit}, not {repeats}."),
    )
    OPTIONS_NEED_VARY = (
        "usage.options-need-vary",
        _("--alone, -o, --size and --repeats are for an experiment of your own."),
        _("Name the settings to vary, for example --vary rsize=64k,1M."),
    )
    SIZE_SYNTAX = (
        "usage.size-syntax",
        _("--size: {problem}"),
    )
    NOTHING_UNFINISHED = (
        "usage.nothing-unfinished",
        _("No experiment is unfinished."),
        _("“experiment run” starts one. “history” lists the results."),
    )
    EXPERIMENT_NEEDS_SHARE = (
        "usage.experiment-needs-share",
        _("An experiment needs a share."),
        _("Name it as server:/export, or use --lab LINK."),
    )
    EXPERIMENT_OF_OTHERS = (
        "usage.experiment-of-others",
        _("Experiment {number} ran on another computer: it was imported from {origin}."),
        _("It cannot be continued here. Run its recipe again on this computer instead."),
    )
    RECIPE_OR_VARY = (
        "usage.recipe-or-vary",
        _("A recipe and --vary cannot be combined."),
        _("Name the share alone, or put what you vary into a copy of the recipe (show --toml)."),
    )
    EXPERIMENT_NEEDS_RECIPE = (
        "usage.experiment-needs-recipe",
        _("An experiment needs a recipe or settings to vary."),
        _("“experiment list” shows the recipes; or write --vary rsize=64k,1M for example."),
    )
    RUN_ON_BOTH_SIDES = (
        "usage.run-on-both-sides",
        _("Test {number} is on both sides: a test cannot be compared with itself."),
        _("Use different tests on the two sides. “history” shows their IDs."),
    )
    TAG_MISSING = (
        "usage.tag-missing",
        _("Which tag?"),
        _("Give --add TAG or --remove TAG."),
    )
    RESERVED_OPTIONS = (
        "option-reserved.reserved-options",
        _("{origin} has options that only root may give. {reserved}"),
        _(
            "Give --reserved leave-out to save it without them, or --reserved keep to save it as it is, "
            "which an administrator has to approve."
        ),
    )
    INPUT_TOO_LONG = (
        "usage.input-too-long",
        _("{name} is too long for {expected}."),
    )
    INPUT_IS_BINARY = (
        "usage.input-is-binary",
        _("{name} is a binary file."),
        _("Name an fstab, a systemd mount unit or an autofs map."),
    )
    NO_MOUNT_LISTED = (
        "not-mounted.no-mount-listed",
        _("No NFS mount at {mount_point}, neither active nor configured."),
        _("“list” without a path shows the mounts of this computer."),
    )
    NO_MOUNT_IN_FILE = (
        "usage.no-mount-in-file",
        _("The file has no mount at {mount_point}."),
    )
    OUTPUT_NOT_WRITTEN = (
        "io.output-not-written",
        _("Could not write the output: {reason}."),
    )

    # experiment
    TABLE_NEEDS_TWO_FACTORS = (
        "usage.table-needs-two-factors",
        _("A table has two settings that are varied, one down and one across."),
        _("Choose two of: {varied}."),
    )
    LEVEL_NOT_AN_OPTION = (
        "option-invalid.level-not-an-option",
        _("{levels} cannot be written as mount options: {problem}"),
        _("Correct the level."),
    )
    TOO_MANY_SETS = (
        "usage.too-many-sets",
        _("These settings make {count} option sets. The limit is {limit}."),
        _("Leave some levels out, or vary the settings one at a time."),
    )
    NO_SPACE_FOR_TRIALS = (
        "no-space.no-space-for-trials",
        _(
            "There is not enough free space on the server: a trial takes {needed:size} at least, and "
            "{free:size} are free."
        ),
        _("A test uses at most a quarter of the free space. Free some space, or choose smaller files."),
    )
    RECIPE_UNKNOWN = (
        "usage.recipe-unknown",
        _("There is no recipe “{name}”."),
        _("There are: {names}."),
    )
    RECIPE_NAME_SYNTAX = (
        "usage.recipe-name-syntax",
        _("“{name}” cannot be the name of a recipe."),
        _("Use small letters, digits and hyphens, 48 at most."),
    )
    RECIPE_NAME_OF_SEARCH = (
        "usage.recipe-name-of-search",
        _("“{name}” is the search for the best setting."),
        _("Choose another name for your own."),
    )
    RECIPE_NAME_OF_STUDY = (
        "usage.recipe-name-of-study",
        _("“{name}” is the recipe of a study."),
        _("Choose another name for your own."),
    )
    RECIPE_NOT_OWN = (
        "usage.recipe-not-own",
        _("“{name}” is not one of your own recipes, so it was not removed."),
    )
    RECIPE_FILE_NOT_READ = (
        "io.recipe-file-not-read",
        _("{path} cannot be read."),
    )
    RECIPE_PATH_NOT_READ = (
        "usage.recipe-path-not-read",
        _("The recipe {path} cannot be read."),
        _("Name a text file that you may read."),
    )
    RECIPE_NOT_WRITTEN = (
        "io.recipe-not-written",
        _("{path} could not be written."),
    )
    RECIPE_NOT_REMOVED = (
        "io.recipe-not-removed",
        _("The recipe “{name}” could not be removed."),
    )
    RECIPE_SYNTAX = (
        "usage.recipe-syntax",
        _("The recipe has a mistake. {location}: {problem}{named}"),
        _("The manual describes recipes. “experiment show” prints one as an example."),
    )
    NOT_A_SEARCH = (
        "usage.not-a-search",
        _("This is no search."),
        _("Run it as an experiment."),
    )
    TOO_MANY_SEARCH_SETS = (
        "usage.too-many-search-sets",
        _("These settings make {count} option sets. The limit is {limit}."),
        _("Leave some levels out."),
    )
    FACTOR_NOT_OF_MOUNT = (
        "usage.factor-not-of-mount",
        _("A search varies only mount settings, and “{name}” is a test setting."),
        _("Compare its levels with an experiment: “experiment run SHARE --vary …”."),
    )

    # history
    RUNS_NOT_COMPARABLE = (
        "usage.runs-not-comparable",
        _("These tests cannot be compared: they copied different kinds of files."),
        _("Compare tests of one file with each other, and tests of many small files with each other."),
    )
    HISTORY_UNUSABLE = (
        "io.history-unusable",
        _("The history cannot be used."),
        _("It is {path}."),
    )
    HISTORY_NOT_OPENED = (
        "io.history-not-opened",
        _("The history {path} cannot be opened: {why}."),
        _("Tests work without it, but their results are not saved."),
    )
    HISTORY_LOCKED = (
        "busy.history-locked",
        _("Another program has locked the history for more than {seconds:g} seconds."),
        _("It is {path}. Close the program that uses it, and try again."),
    )
    HISTORY_DISK_FULL = (
        "no-space.history-disk-full",
        _("The disk of the history is full."),
        _("Free some space on the disk of {path}."),
    )
    HISTORY_READ_ONLY = (
        "permission.history-read-only",
        _("The history is not writable."),
        _("It is {path}. It should be yours; perhaps root made it."),
    )
    SQLITE_TOO_OLD = (
        "unavailable.sqlite-too-old",
        _("The history needs SQLite {oldest} or newer; this computer has {version}."),
        _("Debian 12 and Ubuntu 22.04 have it. Tests work without it, but their results are not saved."),
    )
    HISTORY_TOO_NEW = (
        "unavailable.history-too-new",
        _("A newer version of this program wrote the history, so results are not saved."),
        _("Use the newer version."),
    )
    EXPERIMENT_RUNS_ELSEWHERE = (
        "busy.experiment-runs-elsewhere",
        _("Experiment {number} is running already, in the window or in another terminal."),
        _("Wait until it ends, or stop it there. Then resume it."),
    )
    PLAN_NOT_READ = (
        "io.plan-not-read",
        _("The plan of experiment {number} cannot be read."),
        _("Another version of this program may have made it. Run the recipe again."),
    )
    NO_SUCH_EXPERIMENT = (
        "usage.no-such-experiment",
        _("The history has no experiment {number}."),
        _("“history experiments” lists them."),
    )
    OUTCOMES_NOT_READ = (
        "io.outcomes-not-read",
        _("The results of experiment {number} cannot be read."),
        _("A newer version of this program may have written it."),
    )
    EXPERIMENT_NOT_JSON = (
        "usage.experiment-not-json",
        _("An experiment is described in JSON."),
    )
    EXPERIMENT_TIME_SYNTAX = (
        "usage.experiment-time-syntax",
        _("“{text}” is not the time of an experiment."),
    )
    NOT_AN_EXPORT = (
        "usage.not-an-export",
        _("This is not a file that was exported from a history."),
        _("“history export --json FILE” writes one. The output of “test --json” works too."),
    )
    EXPORT_TOO_NEW = (
        "usage.export-too-new",
        _("The file was exported by a newer version of this program."),
        _("Use the newer version."),
    )
    IMPORT_PATH_NOT_ABSOLUTE = (
        "usage.import-path-not-absolute",
        _("“{path}” cannot be read."),
        _("Give the full path of the file."),
    )
    IMPORT_NOT_READ = (
        "io.import-not-read",
        _("{path} cannot be read."),
        _("Check that it exists, and that the server of its directory responds."),
    )
    TAG_SYNTAX = (
        "usage.tag-syntax",
        _("“{tag}” is not a tag."),
        _("A tag is one word, such as before-upgrade."),
    )
    TEST_TIME_SYNTAX = (
        "usage.test-time-syntax",
        _("“{time}” is not the time of a test."),
    )
    NO_SUCH_RUN = (
        "usage.no-such-run",
        _("The history has no test {number}."),
        _("“history” lists them."),
    )
    RUN_NOT_READ = (
        "io.run-not-read",
        _("The results of test {number} cannot be read."),
        _("A newer version of this program may have written it."),
    )

    # lab
    GUEST_ENDED_AT_START = (
        "lab-failed.guest-ended-at-start",
        _("The lab's guest ended while it started."),
    )
    GUEST_NOT_STARTED = (
        "lab-failed.guest-not-started",
        _("The lab's guest could not start: {problem}"),
    )
    GUEST_START_TIMEOUT = (
        "lab-failed.guest-start-timeout",
        _("The lab's guest did not start in time."),
    )
    LAB_PROGRAM_MISSING = (
        "lab-failed.lab-program-missing",
        _("The lab's guest has no program {name}."),
    )
    LAB_PROGRAM_FAILED = (
        "lab-failed.lab-program-failed",
        _("The program {name} {how} in the lab's guest."),
    )
    COMMAND_NOT_STARTED = (
        "usage.command-not-started",
        _("The command could not be started: {problem}."),
    )
    XSTATE_NOT_COMPILED = (
        "lab-failed.xstate-not-compiled",
        _("What user-mode Linux needs on this processor could not be compiled."),
    )

    # report
    PLAN_NOT_READ_FOR_REPORT = (
        "io.plan-not-read-for-report",
        _("The plan of the experiment cannot be read."),
        _("Another version of this program may have made it. Its trials can be exported as CSV."),
    )

    # speedtest
    TEST_PROCESS_NOT_STARTED = (
        "helper-failed.test-process-not-started",
        _("The process that is to run the test did not start."),
        _("Try again. If it happens again, make the program's directory readable for all users."),
    )
    DIRECTORY_NOT_BELOW_SHARE = (
        "usage.directory-not-below-share",
        _("The directory is not one below the share."),
        _("Name it by its path from the root of the share, without “..”."),
    )
    SHARE_TEST_MOUNT_GONE = (
        "not-mounted.share-test-mount-gone",
        _("The test mount of {share} is gone."),
        _("Start the test again."),
    )
    NAME_NOT_UTF8_FOR_TEST = (
        "usage.name-not-utf8-for-test",
        _("{name} cannot be tested by this name, which is not UTF-8."),
        _("Make a symbolic link to it (ln -s) and name that."),
    )
    FILESYSTEM_SILENT = (
        "not-responding.filesystem-silent",
        _("The file system at {path} stopped answering. The server or the network is probably down."),
        _("Check the server and the cable. The test stopped. Its files are removed once the server answers."),
    )
    FIO_MISSING = (
        "unavailable.fio-missing",
        _("The grid is measured by fio, which is not installed on this computer."),
        _(
            "Install the package fio (apt-get install fio, dnf install fio, zypper install fio or pacman "
            "-S fio). The other tests need nothing but this program."
        ),
    )
    FIO_MEASURED_NOTHING = (
        "io.fio-measured-nothing",
        _("fio measured nothing: not one request was answered in the time of a cell."),
        _("Give each cell more time, or check that the server answers."),
    )
    FIO_ANSWER_NOT_READ = (
        "io.fio-answer-not-read",
        _("fio's answer cannot be read."),
        _("Its version may be too old: version 3 and later are known to work."),
    )
    DATA_DAMAGED = (
        "io.data-damaged",
        _("The test file read back is not what was written."),
        _("Something changed it, or the server or network damages data: do not trust this mount."),
    )
    SOURCE_NOT_READ = (
        "io.source-not-read",
        _("{path} cannot be read, so it cannot be copied."),
        _("Choose files that you may read, on a healthy disk."),
    )
    TOO_MANY_SOURCE_FILES = (
        "usage.too-many-source-files",
        _("There are more than {limit} files to copy."),
        _("Choose a smaller directory."),
    )
    SOURCE_ON_TESTED_MOUNT = (
        "usage.source-on-tested-mount",
        _("{path} is on the mount that is tested: it would come from the server that it is copied to."),
        _("Choose a file or directory on this computer."),
    )
    SOURCE_CHANGED = (
        "io.source-changed",
        _("{path} changed while it was copied, so the copy cannot be compared."),
        _("Choose files that no program changes during the test."),
    )
    SOURCE_MISSING = (
        "path-missing.source-missing",
        _("{path} does not exist, so it cannot be copied."),
    )
    SOURCE_NOT_READ_TO_END = (
        "io.source-not-read-to-end",
        _("Your own files could not be read completely."),
    )
    TEST_SIZE_TOO_SMALL = (
        "usage.test-size-too-small",
        _("The size of the test file must be at least one byte."),
    )
    TEST_REPEATS_NOT_IN_RANGE = (
        "usage.test-repeats-not-in-range",
        _("The number of repeats must be between 1 and {limit}."),
    )
    TEST_PASSES_NOT_IN_RANGE = (
        "usage.test-passes-not-in-range",
        _("Only one file can be read several times over, at most {limit} times."),
    )
    RUN_NAME_SYNTAX = (
        "usage.run-name-syntax",
        _("The name of the test is not valid."),
    )
    TEST_CANCELLED = (
        "cancelled.test-cancelled",
        _("The test was cancelled."),
    )
    TEST_NOT_DESCRIBED = (
        "usage.test-not-described",
        _("The description of the test is not valid."),
    )

    # tasks
    CANCELLED = (
        "cancelled.cancelled",
        _("Cancelled."),
    )

    # Changes of mounts and their rollback: the kind is that of the problem.
    NOTHING_CHANGED = (
        "io.nothing-changed",
        _("{problem} Nothing was changed."),
        _("{problem:hint}"),
    )
    ROLLED_BACK = (
        "io.rolled-back",
        _("{problem} The change was rolled back."),
        _("{problem:hint}"),
    )
    ROLLBACK_INCOMPLETE = (
        "io.rollback-incomplete",
        _("{problem} Some steps could not be rolled back: {left}"),
        _("Fix these manually."),
    )
    FLAGS_NOT_RESTORED = (
        "io.flags-not-restored",
        _("The old flags of {mount_point} could not be restored: {problem}"),
        _("{problem:hint}"),
    )
    OLD_MOUNT_NOT_RESTORED = (
        "io.old-mount-not-restored",
        _("{share} could not be mounted again at {mount_point}: {problem}"),
        _("{problem:hint}"),
    )
    NEW_MOUNT_REMAINS = (
        "io.new-mount-remains",
        _("{mount_point} is still mounted with the new options: {problem}"),
        _("{problem:hint}"),
    )
    CHANGE_REVERTED = (
        "cancelled.change-reverted",
        _("You chose not to keep the change."),
    )
    CHANGE_NOT_CONFIRMED = (
        "cancelled.change-not-confirmed",
        _("The change was not confirmed in time."),
    )

    # Measurements
    MEASUREMENT_RUNS = (
        "busy.measurement-runs",
        _("{running}"),
        _("Two tests at the same time would distort each other. Wait until it ends, or cancel it."),
    )
    DATA_STILL_SENT = (
        "busy.data-still-sent",
        _(
            "{mount_point} is in use: the last data of a cancelled test is still being sent to the "
            "server, {speed:speed} now."
        ),
        _("Wait until it has arrived and try again. Detaching (lazy) hides the mount now."),
    )
    DATA_NOT_SENT = (
        "busy.data-not-sent",
        _(
            "{mount_point} is in use: the last data of a cancelled test could not be sent: the server "
            "does not accept it."
        ),
        _("Check the server and the cable. Detaching (lazy) hides the mount and keeps the unsent data."),
    )
    FILESYSTEM_READ_ONLY = (
        "read-only.filesystem-read-only",
        _("The file system at {path} is read-only, so no test file can be written."),
        _("Mount it read-write (rw), and see that the server exports it with rw."),
    )
    TEST_OPTIONS_READ_ONLY = (
        "read-only.test-options-read-only",
        _("The file system at {path} is read-only, so no test file can be written."),
        _("Its options for the test have ro (read-only). Remove it."),
    )
    DIRECTORY_MISSING = (
        "path-missing.directory-missing",
        _("{path} does not exist."),
        _("Name a directory that exists, for example the mount point."),
    )
    NOT_A_DIRECTORY = (
        "not-a-directory.not-a-directory",
        _("{path} is not a directory."),
        _("Name a directory. The test makes its own files in it."),
    )
    QUOTA_USED_UP = (
        "no-space.quota-used-up",
        _("Your quota is used up at {path} for the test file."),
        _("Choose a smaller size, or free some space on the server."),
    )
    NO_SPACE_FOR_TEST = (
        "no-space.no-space-for-test",
        _("There is not enough free space at {path} for the test file."),
        _("Choose a smaller size, or free some space on the server."),
    )
    ROOT_NOT_ALLOWED = (
        "permission.root-not-allowed",
        _("You are not allowed to create files in {path}."),
        _(
            "The server probably maps root to an unprivileged user (root_squash). Run the test as a "
            "user who may write there, or export with no_root_squash."
        ),
    )
    DIRECTORY_NOT_ALLOWED = (
        "permission.directory-not-allowed",
        _("You are not allowed to create files in {path}."),
        _("Choose a directory that you may write to, or change its owner or mode on the server."),
    )
    TEST_FILE_FAILED = (
        "io.test-file-failed",
        _("While {doing} in {path} the system reported: {cause}."),
        _("The kernel's log (dmesg) may say more."),
    )
    TEST_FILE_IO = (
        "io.test-file-io",
        _("While {doing} in {path} the system reported: {cause}."),
        _("On a soft mount this error means a timeout. The kernel's log (dmesg) has the reason."),
    )
    TEST_FILE_STALE = (
        "io.test-file-stale",
        _("While {doing} in {path} the system reported: {cause}."),
        _("The directory was removed or replaced on the server. Unmount and mount it again."),
    )
    TEST_FILE_TOO_LARGE = (
        "io.test-file-too-large",
        _("While {doing} in {path} the system reported: {cause}."),
        _("The server or a limit (ulimit -f) does not allow files of this size."),
    )
    TEST_PROCESS_KILLED = (
        "io.test-process-killed",
        _("The process that ran the test was ended by signal {signal}."),
        _("Out of memory? Try a smaller block size. The kernel's log (dmesg) has the reason."),
    )
    TEST_PROCESS_ENDED = (
        "io.test-process-ended",
        _("The process that ran the test ended early."),
        _("If you did not end it, this is a bug. Please report it with the details."),
    )
    NOTHING_TO_COPY = (
        "usage.nothing-to-copy",
        _("{path} has nothing to copy: it contains no files with data."),
        _("Choose a file, or a directory with files."),
    )
    ALL_LEFT_OUT = (
        "usage.all-left-out",
        _("{path} has nothing to copy: it contains no files with data."),
        _("It has {skipped}, which are left out."),
    )

    # The agent
    AGENT_ENDED = (
        "protocol.agent-ended",
        _("The agent ended before it answered."),
        _("Try again. If it happens again, restart the program."),
    )
    AGENT_ANSWER_NOT_READ = (
        "protocol.agent-answer-not-read",
        _("The agent's answer could not be read."),
        _("Try again. If it happens again, restart the program."),
    )
    AGENT_ANSWER_EMPTY = (
        "protocol.agent-answer-empty",
        _("The agent gave an empty answer."),
        _("Try again. If it happens again, restart the program."),
    )
    INTERNAL_ERROR = (
        "internal.internal-error",
        _("An internal error: {name}: {problem}."),
        _("This is a bug. Please report it with the details."),
    )
    HELPER_ENDED_TWICE = (
        "helper-failed.helper-ended-twice",
        _("The helper ended twice without an answer."),
        _("Try again. If it happens again, reinstall the helper with “{command}”."),
    )
    HELPER_NOT_STARTED = (
        "helper-failed.helper-not-started",
        _("The helper cannot be started."),
        _("Try again. If it happens again, reinstall the helper with “{command}”."),
    )
    HELPER_TIMEOUT = (
        "helper-failed.helper-timeout",
        _("The helper did not answer in time."),
        _("Try again. If it happens again, reinstall the helper with “{command}”."),
    )
    HELPER_ENDED = (
        "helper-failed.helper-ended",
        _("The helper ended without an answer."),
        _("Try again. If it happens again, reinstall the helper with “{command}”."),
    )
    HELPER_ANSWER_NOT_READ = (
        "helper-failed.helper-answer-not-read",
        _("The helper gave an answer that cannot be read."),
        _("Try again. If it happens again, reinstall the helper with “{command}”."),
    )
    HELPER_CANCEL_TIMEOUT = (
        "helper-failed.helper-cancel-timeout",
        _("The helper did not end in time."),
        _("Try again. If it happens again, reinstall the helper with “{command}”."),
    )
    HELPER_REFUSED = (
        "helper-failed.helper-refused",
        _("The helper refused the request: {reason}"),
        _("Try again. If it happens again, reinstall the helper with “{command}”."),
    )
    HELPER_VERSION_DIFFERS = (
        "helper-failed.helper-version-differs",
        _("The helper and this program have different versions."),
        _("Try again. If it happens again, reinstall the helper with “{command}”."),
    )

    # mount.nfs
    MOUNT_SERVER_SILENT = (
        "server-silent.mount-server-silent",
        _(
            "The server “{server}” did not answer in time. It is switched off, or a firewall drops the "
            "packets."
        ),
        _("Check that it is up (ping {server}) and that TCP port 2049 is open between it and this computer."),
    )
    MOUNT_UNFINISHED = (
        "server-silent.mount-unfinished",
        _("The server “{server}” accepts connections, but the mount was not complete in time."),
        _(
            "It may have just started (then it waits up to 90 seconds for its former clients), or be "
            "overloaded. Try again with a longer time limit."
        ),
    )
    MOUNT_FAILED = (
        "mount-failed.mount-failed",
        _("“{share}” could not be mounted, for a reason that this program does not know."),
        _("The details have the text of mount.nfs. The kernel's log (dmesg) may say more."),
    )
    KERBEROS_NOT_SET_UP = (
        "option-rejected.kerberos-not-set-up",
        _(
            "The kernel refused the options. With sec={security} this usually means that Kerberos is not "
            "set up here: rpc.gssd does not run, or there is no keytab."
        ),
        _("Check /etc/krb5.keytab and start rpc-gssd (systemctl start rpc-gssd)."),
    )
    OPTION_UNKNOWN_TO_KERNEL = (
        "option-rejected.option-unknown-to-kernel",
        _(
            "The kernel refused the options. It probably does not know “{unknown}”, which this program "
            "does not know either."
        ),
        _("Look for a mistake in its name, or leave it out. A newer kernel may know it."),
    )
    OPTIONS_FOR_VERSION_3 = (
        "option-rejected.options-for-version-3",
        _("The options mountproto, mountport and mountvers exist for NFS version 3 only."),
        _("Remove them, or choose version 3."),
    )
    NO_RDMA = (
        "unavailable.no-rdma",
        _("This computer has no RDMA device that works, or its kernel module is not loaded."),
        _("Use proto=tcp, or load the module (modprobe xprtrdma)."),
    )
    PRIVILEGED_PORT_NEEDED = (
        "access-denied.privileged-port-needed",
        _(
            "The server “{server}” does not permit this mount: with noresvport the requests come from "
            "ports above 1023, which the export does not take."
        ),
        _("Remove noresvport, or give the export the option insecure on the server."),
    )
    EXPORT_DENIED = (
        "access-denied.export-denied",
        _(
            "The server “{server}” refused the export “{export}”. Most likely it is not exported to this "
            "computer, or the path does not exist there."
        ),
        _(
            "On the server compare exportfs -v with this computer's address. showmount -e {server} lists "
            "what it exports for version 3."
        ),
    )
    EXPORT_DENIED_SECURITY = (
        "access-denied.export-denied-security",
        _(
            "The server “{server}” refused the export “{export}”. It is not exported to this computer, "
            "the path does not exist there, or the export does not allow sec={security}."
        ),
        _("On the server compare exportfs -v with this computer's address and with sec={security}."),
    )
    SHARE_NOT_NFS = (
        "share-invalid.share-not-nfs",
        _("“{share}” is not an NFS share of the form server:/export."),
        _("Write it as server:/export, for example nas01:/export/home or [2001:db8::7]:/data."),
    )
    ADDRESS_FAMILY_WRONG = (
        "option-rejected.address-family-wrong",
        _("The address of “{server}” does not fit the requested protocol."),
        _("Use proto=tcp6 with an IPv6 address and proto=tcp with an IPv4 address, or leave proto out."),
    )
    NAME_SERVICE_SILENT = (
        "server-unknown.name-service-silent",
        _("The name service did not answer when “{server}” was looked up."),
        _("Check the network and the name servers, or use the server's address."),
    )
    SERVER_NOT_RESOLVED = (
        "server-unknown.server-not-resolved",
        _("The server name “{server}” is not known: it does not resolve to an address."),
        _("Check the spelling and the name service (getent hosts NAME), or use the server's address."),
    )
    MOUNT_NFS_MISSING = (
        "mount-nfs-missing.mount-nfs-missing",
        _("This computer cannot mount NFS: the program mount.nfs is not installed."),
        _("Install the package nfs-common (Debian, Ubuntu) or nfs-utils (Fedora, openSUSE, Arch)."),
    )
    VERSION_GIVEN_TWICE = (
        "option-invalid.version-given-twice",
        _("The NFS version is given twice, or is not a version."),
        _("Give one of vers=3, vers=4.0, vers=4.1 or vers=4.2."),
    )
    STATD_NOT_RUNNING = (
        "mount-failed.statd-not-running",
        _("File locking of NFS version 3 needs the service rpc.statd, which does not run on this computer."),
        _("Start it (systemctl start rpc-statd), choose version 4, or keep locks local with nolock."),
    )
    MOUNTPROTO_UNUSABLE = (
        "option-rejected.mountproto-unusable",
        _("The protocol in mountproto= cannot be used to ask the server's mount service."),
        _("Use mountproto=tcp, or leave it out."),
    )
    VERSION_OR_TRANSPORT_NOT_OFFERED = (
        "version-unsupported.version-or-transport-not-offered",
        _(
            "The server “{server}” does not offer this NFS version or transport: it is not registered "
            "there, or the kernel here was built without it (NFS over UDP often is)."
        ),
        _("Use proto=tcp and version 4.2 or 3. For version 3 the server needs rpcbind and mountd."),
    )
    EXPORT_NOT_FOR_CLIENT = (
        "export-missing.export-not-for-client",
        _(
            "The server “{server}” has no export “{export}” for this computer. With NFS version 4 the "
            "server also answers like this for exports that this computer may not use."
        ),
        _(
            "Check the path: with version 4 it starts at the server's root of exports (fsid=0). On the "
            "server, exportfs -v shows the exports and who may use them."
        ),
    )
    MOUNT_POINT_MISSING = (
        "mount-point-missing.mount-point-missing",
        _("The mount point “{mount_point}” does not exist."),
        _("Make the directory first, or choose another one."),
    )
    EXPORT_IS_FILE = (
        "export-missing.export-is-file",
        _("“{export}” on the server “{server}” is not a directory."),
        _("Mount the directory that contains it."),
    )
    MOUNT_POINT_IS_FILE = (
        "mount-point-is-file.mount-point-is-file",
        _("The mount point “{mount_point}” is not a directory."),
        _("Choose a directory, or a name that does not exist yet."),
    )
    OPTIONS_REFUSED = (
        "option-rejected.options-refused",
        _("The kernel refused the options: one is unknown, out of range, or does not fit the version."),
        _(
            "Remove options until it mounts, the last changed first. The kernel's log (dmesg) may name "
            "the option."
        ),
    )
    MOUNT_POINT_BUSY = (
        "mount-point-busy.mount-point-busy",
        _("“{mount_point}” is in use, or the share is mounted already with conflicting options."),
        _("Unmount the other mount first, or give both the same options."),
    )
    VERSION_NOT_SPOKEN = (
        "version-unsupported.version-not-spoken",
        _("The server “{server}” does not support the requested NFS version."),
        _("Choose another version, or leave it out so that the best common one is found."),
    )
    MOUNT_REFUSED = (
        "server-refused.mount-refused",
        _("The server “{server}” is up but refused the connection: no NFS service listens there."),
        _(
            "Start the NFS server on it (systemctl start nfs-server), check the option port= and its "
            "firewall. For version 3 rpcbind must run too."
        ),
    )
    NO_ROUTE = (
        "server-silent.no-route",
        _("The server “{server}” cannot be reached: this computer has no route to it."),
        _("Check the cable or the wireless network, the VPN, and the server's address."),
    )
    ROOT_NEEDED = (
        "not-authorized.root-needed",
        _("Only the administrator may make this mount."),
        _("Run the program as root, or install the helper with “./run install-helper”."),
    )
    MOUNT_NOT_PERMITTED = (
        "access-denied.mount-not-permitted",
        _(
            "The server “{server}” does not permit this mount. Often address translation is in between "
            "and the export takes requests from ports below 1024 only, or the security flavour is not "
            "offered."
        ),
        _("Give the export the option insecure on the server, or choose another sec=."),
    )
    NO_NFS_CLIENT = (
        "unavailable.no-nfs-client",
        _("The kernel of this computer has no NFS client."),
        _("Load the module (modprobe nfs), or install a kernel that has it."),
    )
    TLSHD_NOT_RUNNING = (
        "option-rejected.tlshd-not-running",
        _("The encryption requested with xprtsec= needs the service tlshd, which does not run here."),
        _("Install ktls-utils and start tlshd, or use xprtsec=none."),
    )
    KEY_MISSING = (
        "access-denied.key-missing",
        _("A key or certificate that this mount needs is missing or expired."),
        _("For Kerberos check the keytab and the clocks of both computers; for TLS check the certificate."),
    )
    EXPORT_STALE = (
        "export-missing.export-stale",
        _("The server “{server}” no longer knows “{export}”: the directory was replaced or withdrawn."),
        _("Have it exported again on the server (exportfs -ra), then try again."),
    )
    EXPORT_NOT_FOUND = (
        "export-missing.export-not-found",
        _("“{export}” does not exist on the server “{server}”."),
        _("Check the path. On the server, exportfs -v shows the exports."),
    )
    EXCHANGE_FAILED = (
        "io.exchange-failed",
        _("The exchange with the server “{server}” failed while mounting."),
        _(
            "Often what listens on that port is no NFS server, or the version does not exist. Check "
            "port= and vers=, and the server's log."
        ),
    )

    # Problems within another one, whose kind they keep
    MEASUREMENT_IN_FILE = (
        "io.measurement-in-file",
        _("{problem} The measurement is not lost: it is in {file}."),
        _("{problem:hint} Then take it in with: mountwright history import {file}"),
    )
    MEASUREMENT_LOST = (
        "io.measurement-lost",
        _("{problem} The measurement is not kept."),
        _("{problem:hint}"),
    )
    SHARE_NOT_TESTABLE = (
        "io.share-not-testable",
        _("{share} can be mounted, but no test can be run there. {problem}"),
        _("{problem:hint}"),
    )
    SERVER_PROBLEM = (
        "io.server-problem",
        _("{server}: {problem}"),
        _("{problem:hint}"),
    )
    RUN_FAILED = (
        "unavailable.run-failed",
        _("The run ended early because trials in a row failed."),
        _("Solve the problem that the trials report."),
    )
    RUN_FAILED_RESUMABLE = (
        "unavailable.run-failed-resumable",
        _("The run ended early because trials in a row failed."),
        _("Solve the problem that the trials report. Then resume with “experiment resume {number}”."),
    )
    EXPERIMENT_ON_LAB_LINK = (
        "usage.experiment-on-lab-link",
        _("Experiment {number} was begun over the lab link {link}."),
        _("Resume it with --lab {link}."),
    )
    EXPERIMENT_ON_REAL_LINK = (
        "usage.experiment-on-real-link",
        _("Experiment {number} was begun over a real link."),
        _("Resume it without --lab."),
    )
    SEARCH_NO_RESULT = (
        "unavailable.search-no-result",
        _("No trial gave a result."),
        _("Allow more time."),
    )
    SEARCH_NO_RESULT_BECAUSE = (
        "unavailable.search-no-result-because",
        _("No trial gave a result. {problem}"),
        _("Solve the problem if one is reported. Otherwise allow more time."),
    )
