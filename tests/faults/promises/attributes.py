"""Each attribute of a conversation is a register, and every value is written once."""

import collections

from .history import DONE, NEVER, brief, effect, latest

KEYS = ("k0", "k1", "k2", "k3", "r0", "r1")


class Attributes:
    def __init__(self, checker, org):
        self.checker, self.history, self.org = checker, checker.history, org
        self.writes = collections.defaultdict(list)   # (conversation, key): updates
        self.updates = collections.defaultdict(list)  # conversation: those acknowledged
        for op in self.history.of(org, "update"):
            if "set" not in op["args"]:
                continue
            for key in op["args"]["set"]:
                self.writes[op["args"]["conversation"], key].append(op)
            if effect(op) == DONE:
                self.updates[op["args"]["conversation"]].append(op)

    def check(self):
        for op, conversation in self.history.shown[self.org]:
            self.check_read(op, conversation)
        for updates in self.updates.values():
            for op in updates:
                self.check_update(op)

    def check_update(self, op):
        for key, value in op["args"]["set"].items():
            if op["got"]["attrs"].get(key) != value:
                self.checker.broken("an update answers with what it wrote", brief(op), op["got"])
        now = (op["begin"] + self.history.run["wall"]) / 1e6
        if op["got"]["updated"] < now - 2:
            self.checker.broken("an update moves updated_at", brief(op), op["got"]["updated"])

    def check_read(self, op, conversation):
        attrs = conversation["attrs"] or {}
        if None in attrs.values():
            self.checker.broken("no attribute is null", brief(op), attrs)
        for key in KEYS:
            writes = self.writes.get((conversation["id"], key))
            if writes is not None:
                self.check_value(op, conversation["id"], key, attrs.get(key), writes)
            elif key in attrs:
                self.checker.broken("no attribute is there that nobody wrote", brief(op), key, attrs)
        for update in self.updates.get(conversation["id"], ()):
            if update["end"] < op["begin"] and update["got"]["updated"] > conversation["updated"]:
                self.checker.broken("updated_at does not go back", brief(op), brief(update))

    def check_value(self, op, conversation, key, value, writes):
        """The value is that of a write that can have been the last before the answer."""
        sources = [write for write in writes if write["args"]["set"][key] == value
                   and write["begin"] < op["end"] and effect(write) != NEVER]
        done_before = [write for write in writes if effect(write) == DONE and write["end"] < op["begin"]]
        newest_begin = max((write["begin"] for write in done_before), default=None)
        if value is None and newest_begin is None:
            return
        if value is not None and not sources:
            self.checker.broken("a value was written by a write that may have been carried out",
                                brief(op), conversation, key, value)
            return
        # A write that was over before an acknowledged one began, which was over before this read began,
        # has been overwritten.
        if newest_begin is not None and all(latest(write) < newest_begin for write in sources):
            self.checker.broken("no read is stale, and no update lost", brief(op), conversation, key,
                                "is", value, "after",
                                brief(max(done_before, key=lambda write: write["begin"])))
