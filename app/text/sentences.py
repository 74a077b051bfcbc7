"""Sentences of messages, by code, and the words for values in them."""

from __future__ import annotations

from app.text.translate import mark as _

#: Words for values in sentences: format name to value to text.
VALUE_WORDS: dict[str, dict[str, str]] = {
    "direction": {"write": _("To the server"), "read": _("From the server")},
    "bottleneck": {
        "network": _("the network"),
        "server": _("the server"),
        "round-trips": _("the round trips to the server"),
        "client": _("this computer"),
        "unclear": _("it is not clear"),
    },
    "figure": {
        "write": _("to the server"),
        "read": _("from the server"),
        "create": _("of making files"),
        "stat": _("of looking up files"),
        "delete": _("of deleting files"),
        "small-read": _("of small reads"),
    },
}

#: Sentences by code. Placeholders name values; app.text.message has their formats, such as {used:speed}.
SENTENCES = {
    # Why a value in use differs from the requested one (app.mounts.option_comparison.OptionNote).
    "option.added": _("Line {line} of {file} adds “{item}”."),
    "option.added-over": _("Line {line} of {file} adds “{item}”, which overrides “{other}”."),
    "option.fstab-only": _("Has a meaning in fstab only."),
    "option.no-effect": _("Has no effect."),
    "option.no-effect-on-version": _("Has no effect on version {version}."),
    "option.not-shown": _("The kernel does not show it."),
    "option.tag-not-shown": _("Kernels before 6.12 show fsc without its tag."),
    "option.shown-as-times": _("The kernel shows it as the four attribute times."),
    "option.shown-in-version": _("The kernel shows it as part of the version."),
    "option.shown-as-mountaddr": _("The kernel shows it as mountaddr."),
    "option.always": _("This program always sets it."),
    "option.follows": _("Follows from {option}."),
    "option.overridden": _("{option} overrides it."),
    "option.overridden-later": _("{option}, which comes later, overrides it."),
    "option.overridden-by-other": _("Another option overrides it."),
    "option.server-chooses": _("0 leaves it to the server."),
    "option.server-limit": _("The server limited it to {used}."),
    "option.kernel-limit": _("The kernel limited it to {used}."),
    "option.kernel-time-limit": _("The kernel limited it to {seconds} s (timeo={used})."),
    "option.kernel-rounded": _("The kernel rounded it to {used}."),
    "option.kernel-read": _("The kernel reads “{requested}” as {used}."),
    "option.kernel-other": _("The kernel uses another value."),
    "option.filled-in": _("mount.nfs fills it in itself."),
    "option.negotiated": _("Negotiated with the server."),
    "option.ipv6": _("The server has an IPv6 address."),
    "option.first-mount": _("The first mount of this server and version decides."),
    "option.same-filesystem": _("An earlier mount of the same server file system decides."),
    # Differences between what is configured and what is mounted (Mount.differences).
    "difference.share": _("{origin} says {configured}, mounted is {mounted}."),
    "difference.option": _("{origin} says “{configured}”, in use is “{used}”."),
    "difference.not-configured": _("In use is “{used}”, which {origin} does not say."),
    "difference.requested": _("“{requested}” was requested, in use is “{used}”."),
    "difference.not-requested": _("In use is “{used}”, which was not requested."),
    # When a change of an option takes effect (app.mounts.option_changes.ChangeNote).
    "change.in-use": _("It is already in use."),
    "change.next-mount": _("Takes effect at the next mount."),
    "change.next-boot": _("Takes effect at the next boot."),
    "change.readahead-saved": _("KiB. It is saved: the mount has it whenever the share is mounted."),
    "change.readahead-volatile": _("KiB, until unmounted."),
    "change.readahead-then-saved": _("KiB, until unmounted. Then the saved {saved_kb} KiB apply."),
    # What runs, where a second measurement is refused (app.service.measurements.Measurement).
    "measurement.test": _("A test is already running on this computer."),
    "measurement.test-plan": _("A test is already being planned on this computer."),
    "measurement.gain-trial": _("A before-and-after test is already running on this computer."),
    "measurement.experiment": _("An experiment is already running on this computer."),
    "measurement.set-probes": _("The settings of an experiment are already being tried on this computer."),
    # Why a run ended early (app.experiment.model.StopReason).
    "stop.time-limit": _("The time limit was reached. The experiment can be resumed."),
    "stop.failures": _("{count} trials in a row failed. The last problem: {problem}"),
    # Evidence of a bottleneck (advisor.bottleneck.Evidence).
    "evidence.unexplained": _(
        "The link was not full, this computer not busy, and no wait explains the time."
    ),
    "evidence.link-exceeded": _(
        "At {speed:speed} the test used all that the link can carry, which is about {limit:speed} by its "
        "rate."
    ),
    "evidence.link-full": _("The test used {share:percent} of the {limit:speed} that the link can carry."),
    "evidence.link-full-with-others": _(
        "The link was full: {interface} carried {share:percent} of what it can, the test itself "
        "{own:percent}. The rest was sent by others, or retransmitted."
    ),
    "evidence.link-used": _("The test used {share:percent} of what the link can carry."),
    "evidence.lab-processor": _(
        "The lab has one processor for client, server and link together: that, not the link, limits what it "
        "shows of such a rate."
    ),
    "evidence.processors": _("This computer's processors were busy: {parts:sentences}."),
    "evidence.processors-all": _("all together {share:percent}"),
    "evidence.processors-kernel": _("one of them, by the kernel {share:percent}"),
    "evidence.processors-test": _("by the test {share:percent}"),
    "evidence.out-of-order": _(
        "{share:percent} of the packets from the server arrived out of order: some were lost and "
        "retransmitted."
    ),
    "evidence.segments-lost": _("{share:percent} of the segments were lost and retransmitted."),
    "evidence.segments-lost-bound": _(
        "{share:percent} of the segments were lost and retransmitted. At a round-trip time of {rtt:duration} "
        "TCP brings about {bound:speed}."
    ),
    "evidence.retransmission-timer": _(
        "{share:percent} of the segments were lost and retransmitted ({count} of {total}): TCP waits 200 ms "
        "or more for those that only its timer finds."
    ),
    "evidence.commit": _(
        "{waited:duration} of {total:duration} went by until the server had the data on its disk (COMMIT)."
    ),
    "evidence.round-trips": _(
        "A request took {trip:duration}, of which the round trip on the link takes {rtt:duration}. {calls} "
        "requests were made, {in_flight:.1f} at once."
    ),
    "evidence.round-trips-only": _(
        "A request took {trip:duration}, no longer than one that does nothing. {calls} requests were made, "
        "{in_flight:.1f} at once."
    ),
    "evidence.server-time": _(
        "A request took {trip:duration}, of which the link takes {rtt:duration}: the server took about "
        "{server:duration}."
    ),
    "evidence.wire-time": _(
        "A request took {trip:duration}, of which its bytes need {wire:duration} on the link. "
        "{in_flight:.1f} were made at once."
    ),
    "evidence.queue": _(
        "Packets queued on the link: a round trip of {idle:duration} became {loaded:duration} during the "
        "test."
    ),
    "evidence.null-call": _(
        "A request that does nothing takes {null:duration}, one of the test took {trip:duration}."
    ),
    "evidence.send-queue": _("Requests waited {waited:duration} each before they were sent."),
    "evidence.retransmitted": _("{count} of {total} segments were retransmitted."),
    "evidence.drops": _("The interface dropped {count} packets during the test."),
    # Evidence of several transfers (app.speedtest.analysis.CombinedEvidence).
    "evidence.other-direction": _("{direction:direction}: {kind:bottleneck}. {evidence}"),
    "evidence.fastest-sequential": _(
        "Sequential access, {record:size} each, {depth:depth}, was the fastest: {speed:speed}. {evidence}"
    ),
    "evidence.fastest-random": _(
        "Random access, {record:size} each, {depth:depth}, was the fastest: {speed:speed}. {evidence}"
    ),
    "evidence.random-access": _(
        "{direction:direction}, random access, {record:size} each: {rates:sentences}. {evidence}"
    ),
    "evidence.rate": _("{depth:depth} {rate:.0f} requests a second, limited by {kind:bottleneck}"),
    "evidence.rate-unclear": _("{depth:depth} {rate:.0f} requests a second, with unknown bottleneck"),
    # One repeat far from the others (app.speedtest.analysis.Outlier).
    "outlier.speed-above": _(
        "Outlier: repeat {repeat} of {count} {figure:figure} was {share:percent} above the median "
        "({value:speed}, median {median:speed})."
    ),
    "outlier.speed-below": _(
        "Outlier: repeat {repeat} of {count} {figure:figure} was {share:percent} below the median "
        "({value:speed}, median {median:speed})."
    ),
    "outlier.rate-above": _(
        "Outlier: repeat {repeat} of {count} {figure:figure} was {share:percent} above the median "
        "({value:.3g} a second, median {median:.3g} a second)."
    ),
    "outlier.rate-below": _(
        "Outlier: repeat {repeat} of {count} {figure:figure} was {share:percent} below the median "
        "({value:.3g} a second, median {median:.3g} a second)."
    ),
    # Small reads compared with the copy (app.speedtest.analysis.SmallReads).
    "small-reads.share": _(
        "Small reads, in calls of {size:size}, reached {share:percent} of the speed of the copy from the "
        "server."
    ),
    "small-reads.held-back": _(
        "Small reads, in calls of {size:size}, reached {share:percent} of the speed of the copy from the "
        "server. "
        "They were limited by {kind:bottleneck}."
    ),
    "small-reads.readahead-helps": _(
        "Small reads, in calls of {size:size}, reached {share:percent} of the speed of the copy from the "
        "server. "
        "They were limited by {kind:bottleneck}, and more readahead helps them."
    ),
    # The network alone, without NFS (app.speedtest.network_measurement.NetworkNote).
    "network.both": _("The network alone, one TCP stream through iperf3, carried {write} and {read}."),
    "network.one": _("The network alone, one TCP stream through iperf3, carried {way}."),
    "network.write": _("{speed:speed} to the server"),
    "network.write-share": _("{speed:speed} to the server (the copy reached {share:percent})"),
    "network.read": _("{speed:speed} from the server"),
    "network.read-share": _("{speed:speed} from the server (the copy reached {share:percent})"),
}
