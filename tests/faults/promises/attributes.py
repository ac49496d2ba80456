"""A conversation keeps the attributes that it was created with; each other attribute is a register."""

import bisect
import collections
import itertools

from .history import DONE, FINAL, NEVER, brief, effect

WRITTEN = {"k0", "k1", "k2", "k3", "r0", "r1"}
MADE_WITH = {"born", "kind"}
MAY_HAVE_MADE = (201, 500, 0)


def kind_of(ext):
    """The attribute by which the workload's searches filter: of "x-7", odd. Conversations of races have none."""
    name, _, number = str(ext).rpartition("-")
    return ("odd" if int(number) % 2 else "even") if name == "x" and number.isdigit() else None


class Attributes:
    """Every value is written only once."""

    def __init__(self, checker, org):
        self.checker, self.history, self.org = checker, checker.history, org
        self.writes = collections.defaultdict(list)   # (conversation, key): updates
        self.updates = []                             # those acknowledged
        self.seen = {}                                # (conversation, key, value): the end of the first read of it
        for op in self.history.of(org, "update"):
            if "set" not in op["args"]:
                continue
            for key in op["args"]["set"]:
                self.writes[op["args"]["conversation"], key].append(op)
            if effect(op) == DONE:
                self.updates.append(op)
        for op, conversation in self.history.shown[org]:
            for attribute in (conversation["attrs"] or {}).items():
                place = conversation["id"], *attribute
                self.seen[place] = min(op["end"], self.seen.get(place, FINAL))

    def check(self):
        for op, conversation in self.history.shown[self.org]:
            self.check_read(op, conversation)
        for op in self.updates:
            self.check_update(op)
        self.check_order()

    def check_update(self, op):
        for key, value in op["args"]["set"].items():
            if op["got"]["attrs"].get(key) != value:
                self.checker.broken("an update responds with what it wrote", brief(op), op["got"])
        behind = self.checker.causes.clock_off("behind:", {"postgres"}, op["begin"], op["end"])
        now = (op["begin"] + self.history.run["wall"] - behind) / 1e6
        if op["got"]["updated"] < now - 2:
            self.checker.broken("an update advances updated_at", brief(op), op["got"]["updated"])

    def check_read(self, op, conversation):
        attrs = conversation["attrs"] or {}
        if None in attrs.values():
            self.checker.broken("no attribute is null", brief(op), attrs)
        for key in WRITTEN | attrs.keys() - MADE_WITH:
            writes = self.writes.get((conversation["id"], key))
            if writes is not None:
                self.check_value(op, conversation["id"], key, attrs.get(key), writes)
            elif key in attrs:
                self.checker.broken("every attribute was written by a request", brief(op), key, attrs)

    def check_order(self):
        """No response shows an older updated_at than one that had ended before its request."""
        responses = collections.defaultdict(list)
        for op, conversation in self.history.shown[self.org]:
            responses[conversation["id"]].append((op["end"], conversation["updated"], op))
        for shown in responses.values():
            shown.sort(key=lambda response: response[:2])
            ends = [end for end, _, _ in shown]
            newest = list(itertools.accumulate((updated for _, updated, _ in shown), max))
            for _, updated, op in shown:
                before = bisect.bisect_left(ends, op["begin"])
                if before > 0 and newest[before - 1] > updated:
                    self.checker.broken("updated_at does not go back", brief(op), updated, "after", newest[before - 1])

    def was_done(self, write, conversation, key, begin):
        """Whether a write had been carried out before that time: it was acknowledged, or a response showed its
        value."""
        if effect(write) == DONE and write["end"] < begin:
            return True
        value = write["args"]["set"][key]
        return value is not None and self.seen.get((conversation, key, value), FINAL) < begin

    def check_value(self, op, conversation, key, value, writes):
        """The value must be that of a write that can have been the last one before the response."""
        sources = [write for write in writes if write["args"]["set"][key] == value
                   and write["begin"] < op["end"] and effect(write) != NEVER]
        done_before = [write for write in writes if self.was_done(write, conversation, key, op["begin"])]
        newest_begin = max((write["begin"] for write in done_before), default=None)
        if value is None and newest_begin is None:
            return
        if value is not None and not sources:
            self.checker.broken("every value is from a write that may have been carried out",
                                brief(op), conversation, key, value)
            return
        # A write that ended before another one began, which was carried out before this read began, has been
        # overwritten.
        if newest_begin is not None and all(self.checker.causes.latest(write) < newest_begin for write in sources):
            self.checker.broken("no read is stale and no update is lost", brief(op), conversation, key,
                                "is", value, "after",
                                brief(max(done_before, key=lambda write: write["begin"])))


class Origins:
    """Every read of a conversation shows the attributes of the create that made it, which `born` identifies."""

    def __init__(self, checker, org):
        self.checker, self.history, self.org = checker, checker.history, org
        self.by_born, self.makers = {}, {}
        for op in self.history.of(org, "create"):
            if "born" in op["args"]:
                self.by_born[op["args"]["born"]] = op
                if op["status"] == 201:
                    self.makers.setdefault(op["args"]["ext"], op)

    def check(self):
        for op, conversation in self.history.shown[self.org]:
            if str(conversation["ext"]).startswith("x-"):
                self.check_shown(op, conversation)

    def check_shown(self, op, conversation):
        ext, attrs = conversation["ext"], conversation["attrs"] or {}
        born = self.by_born.get(attrs.get("born"))
        if born is not None and effect(born) == NEVER:
            self.checker.broken("a request answered 503 or refused wrote nothing", brief(born), brief(op))
        elif born is None or born["args"]["ext"] != ext or born["status"] not in MAY_HAVE_MADE \
                or born["begin"] >= op["end"] or self.makers.get(ext, born) is not born:
            self.checker.broken("a conversation keeps the values of its creation", brief(op), conversation,
                                brief(born) if born else "")
        if attrs.get("kind") != kind_of(ext):
            self.checker.broken("a conversation keeps the values of its creation", brief(op), conversation)
