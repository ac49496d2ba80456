"""Which faults can explain that a request failed, or that a key was refused late.

A fault is "KIND:WHOM:MS[:SECONDS]" (fault_plan.h); WHOM is a process, or SERVER/PROCESS for its link, or SERVER/all. It
explains only failures of what depends on it: docs/architecture.md says who calls whom, docs/failure.md what a
client sees when a part fails. So a fault of the dashboard, of the sender of webhooks or of the other gateway
explains no failure at all.

A wrong clock ("ahead:" or "behind:") explains failures like other faults of its process, but not that it does not
respond. It also moves the times that the process writes, and the deadlines that it sets or observes.
"""

import bisect
import functools
from fnmatch import fnmatchcase

from .history import DONE, SETTLED, effect

CLOCK = 2_000_000  # FAULT_CLOCK_S, if a fault does not say how wrong a clock is
FAR = 45_000_000  # services do not run commands whose deadline is further away
CLOCKS = ("ahead:", "behind:")
# A killed process serves again within about three seconds; twice that for a busy machine.
AFTERMATH = 6_000_000


def of_process(name):
    """A process, or the replicas of a service, with their links."""
    return {name, f"nats/{name}", f"postgres/{name}"}


SERVERS = {"nats", "nats/all", "postgres", "postgres/all"}
ACCESS = SERVERS | of_process("access-*")  # a gateway that has just started knows no key
CONVERSATION = ACCESS | of_process("conversation-*")
SEARCH = ACCESS | of_process("search-*")
# Services write the audit entries of the commands that they run; for other requests, the gateway asks audit to.
AUDIT = ACCESS | of_process("audit-*")
NEEDS = {"create": CONVERSATION, "get": CONVERSATION, "update": CONVERSATION, "search": SEARCH,
         "audit": AUDIT, "ping": AUDIT, "unknown": AUDIT}
# Faults that end the sender, or let its claims expire.
SENDER = {"webhook-0", "postgres", "postgres/all", "postgres/webhook-0"}


def gateway_of(op):
    return f"gateway-{op['gateway']}"


@functools.cache
def needs_of(operation, gateway, is_refused):
    return frozenset(NEEDS[operation] | of_process(gateway) | (AUDIT if is_refused else set()))


def wrong_by(what):
    """By how many microseconds the clock is wrong."""
    parts = what.split(":")
    return int(parts[3]) * 1_000_000 if len(parts) > 3 else CLOCK


@functools.cache
def hits(what, whom):
    """Whether a fault affects one of these."""
    return any(fnmatchcase(what.split(":")[1], each) for each in whom)


class Causes:
    def __init__(self, faults):
        self.faults = sorted(faults, key=lambda fault: fault["begin"])
        self.begins = [fault["begin"] for fault in self.faults]
        self.longest = max((fault["end"] - fault["begin"] for fault in faults), default=0)

    def felt(self, whom, begin, end, aftermath=AFTERMATH):
        """The faults of one of these whose effects can fall into that time."""
        whom = frozenset(whom)
        first = bisect.bisect_left(self.begins, begin - aftermath - self.longest)
        last = bisect.bisect_right(self.begins, end)
        return [fault for fault in self.faults[first:last]
                if fault["end"] + aftermath >= begin and hits(fault["what"], whom)]

    def felt_not_of_clocks(self, whom, begin, end, aftermath=AFTERMATH):
        """The same, without clocks that are wrong."""
        return [fault for fault in self.felt(whom, begin, end, aftermath) if not fault["what"].startswith(CLOCKS)]

    def is_disturbed(self, op):
        """Whether a fault can explain that a request failed."""
        needs = needs_of(op["op"], gateway_of(op), "refused" in op["args"])
        return bool(self.felt(needs, op["begin"], op["end"]))

    def may_be_unanswered(self, op):
        """A live gateway always responds, whatever else fails; but one that has been killed listens only once it has
        its bus."""
        gateway = gateway_of(op)
        if self.felt_not_of_clocks({gateway}, op["begin"], op["end"]):
            return True
        without_bus = self.felt({f"nats/{gateway}", "nats", "nats/all"}, op["begin"], op["end"])
        return any(fault["what"].startswith("kill:") for outage in without_bus
                   for fault in self.felt({gateway}, outage["begin"], outage["end"]))

    def may_be_late(self, op):
        return bool(self.felt_not_of_clocks({gateway_of(op)}, op["begin"], op["end"], aftermath=0))

    def clock_off(self, direction, whom, begin, end):
        """By how many microseconds the clock of one of these may have been off in that direction ("ahead:", "behind:",
        or both: CLOCKS)."""
        wrong = self.felt(whom, begin, end, aftermath=0)
        return max((wrong_by(fault["what"]) for fault in wrong if fault["what"].startswith(direction)), default=0)

    def latest(self, op):
        """The latest time at which a write was carried out, if it was. The gateway's clock sets its deadline, and that
        of the service tells whether it has passed."""
        if effect(op) == DONE:
            return op["end"]
        begin, end = op["begin"], op["begin"] + SETTLED + 2 * CLOCK
        off = (self.clock_off("ahead:", {gateway_of(op)}, begin, end)
               + self.clock_off("behind:", {"conversation-*"}, begin, end))
        return max(op["end"], begin + SETTLED + min(off, FAR))

    def keep_from_access(self, op, begin):
        """Whether, from `begin` to the end of the request, its gateway may have missed a notice of access, or have
        been unable to reach it."""
        return bool(self.felt_not_of_clocks(ACCESS | of_process(gateway_of(op)), begin, op["end"]))

    def cut_off_delivery(self, begin, end):
        """Whether a delivery attempt may have been cut off in that time."""
        return any(not fault["what"].startswith("slow:") for fault in self.felt(SENDER, begin, end))
