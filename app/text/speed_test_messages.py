"""Sentences about speed tests, and what held them back, by code."""

from __future__ import annotations

from app.text.translate import mark as _

#: Words for values in sentences: format name to value to text.
TEST_WORDS: dict[str, dict[str, str]] = {
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

TEST_MESSAGES = {
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
