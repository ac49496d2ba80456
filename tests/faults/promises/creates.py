"""An external id has one conversation, of one contact, however often and by whichever request it is created."""

import collections

from .history import DONE, NEVER, brief, effect

DENIED = "denied"  # the external id of all creates that are refused for their scope


class Creates:
    def __init__(self, checker, org):
        self.checker, self.history, self.org = checker, checker.history, org
        self.by_ext = collections.defaultdict(list)
        for op in self.history.of(org, "create"):
            if "refused" not in op["args"]:
                self.by_ext[op["args"]["ext"]].append(op)
        self.there = collections.defaultdict(list)
        for contact, conversation in self.history.there[org]:
            self.there[conversation["ext"]].append((contact, conversation))

    def check(self):
        for ext, ops in self.by_ext.items():
            self.check_one(ext, ops, self.there.get(ext, []))
        for ext, found in self.there.items():
            if ext == DENIED:
                self.checker.broken("a request answered 503 or refused wrote nothing", self.org, found)
            elif ext not in self.by_ext:
                self.checker.broken("every conversation was created by a request", self.org, found)

    def check_one(self, ext, ops, there):
        broken = self.checker.broken
        answered = [op for op in ops if effect(op) == DONE]
        ids = {op["got"]["id"] for op in answered} | {found["id"] for _, found in there}
        if len(ids) > 1 or len(there) > 1:
            broken("an external id has one conversation", self.org, ext, ids, *map(brief, ops))
        if sum(op["status"] == 201 for op in ops) > 1:
            broken("only one of racing creates gets 201", *map(brief, ops))
        if answered and not there:
            broken("no acknowledged create is lost", *map(brief, ops))
        if there and all(effect(op) == NEVER for op in ops):
            broken("a request answered 503 or refused wrote nothing", ext, *map(brief, ops))
        for op in answered:
            self.check_answer(op, ops, there)
        for op in ops:
            self.check_conflict(op, ops)

    def check_answer(self, op, ops, there):
        got, args, broken = op["got"], op["args"], self.checker.broken
        if got["ext"] != args["ext"] or got["contact"] != args["contact"]:
            broken("a response is about the requested conversation", brief(op), got)
        if there and there[0][0] != args["contact"]:
            broken("a conversation stays with its contact", brief(op), there[0])
        makers = [other for other in ops if other is not op and other["begin"] < op["end"]
                  and effect(other) != NEVER]
        if (op["status"] == 200) != op.get("replay", False):
            broken("replays, and only replays, are marked", brief(op))
        if op["status"] == 200 and not makers:
            broken("a replay is of an existing conversation", brief(op))
        if op["status"] == 201 and any(other["end"] < op["begin"] and effect(other) == DONE for other in ops):
            broken("a repeated create is a replay", *map(brief, ops))
        if op["status"] == 201 and "born" in args and got["attrs"].get("born") != args["born"]:
            broken("a new conversation has the given attributes", brief(op), got)

    def check_conflict(self, op, ops):
        if op["status"] != 409:
            return
        others = [other for other in ops if effect(other) != NEVER and other["begin"] < op["end"]
                  and other["args"]["contact"] != op["args"]["contact"]]
        if not others:
            self.checker.broken("a conflict is with another create", brief(op))
