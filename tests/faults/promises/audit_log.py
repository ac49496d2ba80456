"""One entry for each response to a key and for each write that was carried out, and no other entries."""

import collections
import json

from .history import brief


def operation_of(op):
    """Its name in an entry."""
    if op["op"] in ("ping", "unknown"):
        return op["op"]
    return "audit.list" if op["op"] == "audit" else f"conversation.{op['op']}"


class AuditLog:
    def __init__(self, checker, org):
        self.checker, self.history, self.org = checker, checker.history, org
        final = [op for op in self.history.of(org, "audit") if op["args"].get("final") and op["status"] == 200]
        self.begin = min((op["begin"] for op in final), default=0)
        self.entries = collections.defaultdict(list)
        for op in final:
            for request, operation, status, conversation in op["got"]["audit_logs"]:
                self.entries[request].append((operation, status, conversation))
        self.asked = {op["id"]: op for op in self.history.ops if op["id"]}

    def check(self):
        unanswered = collections.Counter()
        for op in self.history.ops:
            if op["org"] != self.org or op["begin"] > self.begin:
                continue
            if op["status"] == 0:
                unanswered[operation_of(op)] += op.get("sent", True)
            elif op["end"] < self.begin:
                self.check_answer(op, self.entries.get(op["id"], []))
        self.check_strangers(unanswered)
        self.check_creates()
        self.check_updates()
        for op in self.history.of(self.org, "audit"):
            self.check_list(op)
        self.check_seal()

    def check_answer(self, op, entries):
        broken, status = self.checker.broken, op["status"]
        if status == 401 or op["args"].get("refused") == 401:
            if entries:
                broken("a request without a key has no entry", brief(op), entries)
            return
        if len(entries) > 1:
            broken("no response has two entries", brief(op), entries)
        if not entries:
            if status < 500:
                broken("a response has its entry", brief(op))
            else:
                self.checker.counts["500 and 503 without an entry"] += 1
            return
        operation, noted, conversation = entries[0]
        if operation != operation_of(op):
            broken("an entry names the operation", brief(op), entries)
        if noted == status:
            self.check_ids(op, conversation)
        elif status < 500:
            broken("an entry has the response's status", brief(op), entries)
        elif status == 503 and noted < 300 and op["op"] in ("create", "update"):
            broken("a request answered 503 or refused wrote nothing", brief(op), entries)
        else:
            self.checker.counts["500 and 503 whose entry tells what came of it"] += 1

    def check_ids(self, op, conversation):
        right = op.get("got", {}).get("id") if op["op"] == "create" else op["args"].get("conversation")
        if op["status"] in (200, 201) and op["op"] in ("create", "get", "update") and conversation != right:
            self.checker.broken("an entry names the conversation", brief(op), conversation)

    def check_strangers(self, unanswered):
        strangers = collections.Counter()
        for request, entries in self.entries.items():
            op = self.asked.get(request)
            if op is not None and op["org"] != self.org:
                self.checker.broken("no organization sees another's data", brief(op), entries)
            if op is None:
                strangers.update(operation for operation, _, _ in entries)
        for operation, n in strangers.items():
            if n > unanswered[operation]:
                self.checker.broken("every entry is from a request", self.org, operation, n, "entries of nobody's,",
                                    unanswered[operation], "requests without an answer")

    # -- writes, whatever the response ------------------------------------------------------------

    def noted(self, operation, status):
        """The requests with such an entry, by conversation."""
        requests = collections.defaultdict(list)
        for request, entries in self.entries.items():
            for its, noted, conversation in entries:
                if (its, noted) == (operation, status):
                    requests[conversation].append(request)
        return requests

    def check_creates(self):
        made = self.noted("conversation.create", 201)
        for conversation in self.history.ids_there(self.org):
            if len(made[conversation]) != 1:
                self.checker.broken("a write that was carried out has one entry", self.org, conversation,
                                    "create", made[conversation])

    def check_updates(self):
        """Checks updates whose response was lost but whose value was read. Without any response the request's id is
        unknown: then the entries of unknown requests are counted."""
        values = {(conversation["id"], key, value) for _, conversation in self.history.shown[self.org]
                  for key, value in (conversation["attrs"] or {}).items()}
        updated = self.noted("conversation.update", 200)
        unanswered, read = collections.Counter(), collections.Counter()
        for op in self.history.of(self.org, "update"):
            if op["status"] not in (0, 500) or "set" not in op["args"]:
                continue
            conversation = op["args"]["conversation"]
            was_read = any((conversation, *each) in values for each in op["args"]["set"].items())
            if op["status"] == 0:
                unanswered[conversation] += 1
                read[conversation] += was_read
            elif was_read:
                self.checker.counts["updates answered 500 whose value was read"] += 1
                if updated[conversation].count(op["id"]) != 1:
                    self.checker.broken("a write that was carried out has one entry", brief(op),
                                        self.entries.get(op["id"]))
        for conversation in updated.keys() | read.keys():
            strangers = sum(request not in self.asked for request in updated[conversation])
            if not read[conversation] <= strangers <= unanswered[conversation]:
                self.checker.broken("a write that was carried out has one entry", self.org, conversation,
                                    strangers, "entries of nobody's,", unanswered[conversation],
                                    "updates without an answer, and values of", read[conversation], "were read")

    def check_list(self, op):
        for request, *_ in (op.get("got") or {}).get("audit_logs", ()):
            other = self.asked.get(request)
            if other is not None and other["org"] != self.org:
                self.checker.broken("no organization sees another's data", brief(op), brief(other))

    def check_seal(self):
        found = self.history.verified.get(self.org)
        if found is None or found.get("ok") is not True:
            self.checker.broken("the seal verifies", self.org, json.dumps(found)[:400])
