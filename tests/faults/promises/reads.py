"""A read finds everything that exists, and nothing of other organizations."""

import collections

from .attributes import kind_of
from .history import DONE, FINAL, NEVER, brief, effect


class Reads:
    def __init__(self, checker, org):
        self.checker, self.history, self.org = checker, checker.history, org
        self.made = {}                                   # id: when it was first known to exist
        self.by_contact = collections.defaultdict(dict)  # contact: {id: (when, kind)}
        self.asked_for = collections.defaultdict(dict)   # contact: {external id: when it can first exist}
        self.ids_of_others = set()
        for op in self.history.ops:
            if op["op"] == "create" and effect(op) == DONE:
                self.note(op)
            if op["op"] == "create" and op["org"] == org and "ext" in op["args"] and effect(op) != NEVER:
                begins = self.asked_for[op["args"]["contact"]]
                begins[op["args"]["ext"]] = min(op["begin"], begins.get(op["args"]["ext"], FINAL))

    def note(self, op):
        conversation = op["got"]["id"]
        if op["org"] != self.org:
            self.ids_of_others.add(conversation)
            return
        when = min(op["end"], self.made.get(conversation, FINAL))
        self.made[conversation] = when
        self.by_contact[op["got"]["contact"]][conversation] = (when, op["got"]["attrs"].get("kind"))

    def check(self):
        walks = collections.defaultdict(list)
        for op in self.history.of(self.org, "get", "search", "update"):
            if op["op"] != "search":
                self.check_get(op)
            elif "walk" in op["args"]:
                walks[op["args"]["walk"]].append(op)
            if op["op"] == "search" and op["status"] == 200:
                self.check_page(op)
                self.check_total(op)
        for pages in walks.values():
            self.check_walk(sorted(pages, key=lambda op: op["args"]["page"]))
        for conversation in self.made.keys() - self.history.ids_there(self.org):
            self.checker.broken("no acknowledged create is lost", self.org, conversation)

    def check_get(self, op):
        conversation = op["args"].get("conversation")
        if op["status"] == 404 and "across" not in op["args"] \
                and self.made.get(conversation, FINAL) < op["begin"]:
            self.checker.broken("no acknowledged create is lost", brief(op))
        if op["status"] != 200:
            return
        if op["got"]["id"] != conversation or op["got"]["ext"] != op["args"].get("ext", op["got"]["ext"]):
            self.checker.broken("a response is about the requested conversation", brief(op), op["got"])
        if "across" in op["args"] or op["got"]["id"] in self.ids_of_others:
            self.checker.broken("no organization sees another's data", brief(op), op["got"])

    def check_page(self, op):
        got, args = op["got"], op["args"]
        for conversation in got["conversations"]:
            if conversation["id"] in self.ids_of_others:
                self.checker.broken("no organization sees another's data", brief(op), conversation)
            if conversation["contact"] != args["contact"]:
                self.checker.broken("a search finds only the contact's conversations", brief(op), conversation)
            if args.get("kind") and conversation["attrs"].get("kind") != args["kind"]:
                self.checker.broken("a filter excludes what does not match", brief(op), conversation)
        order = [conversation["created"] for conversation in got["conversations"]]
        if order != sorted(order, reverse=True):
            self.checker.broken("newest first", brief(op), order)
        if got["page"] != args["page"] + 1:
            self.checker.broken("a page has the right number", brief(op), got["page"])

    def due(self, op):
        """What a search must find: conversations acknowledged before it began."""
        kind = op["args"].get("kind")
        return {conversation for conversation, (when, its) in self.by_contact[op["args"]["contact"]].items()
                if when < op["begin"] and kind in (None, its)}

    def check_total(self, op):
        """On every page: at least the number acknowledged before, at most the number that may exist."""
        kind, total, due = op["args"].get("kind"), op["got"]["total"], self.due(op)
        possible = [ext for ext, begin in self.asked_for[op["args"]["contact"]].items()
                    if begin < op["end"] and kind in (None, kind_of(ext))]
        if not len(due) <= total <= len(possible):
            self.checker.broken("total_count counts all pages", brief(op), total, "instead of", len(due),
                                "to", len(possible))

    def check_walk(self, pages):
        """What was acknowledged before the first page was requested is on exactly one page."""
        first, last = pages[0], pages[-1]
        if any(page["status"] != 200 for page in pages):
            return
        for page in pages[:-1]:
            if len(page["got"]["conversations"]) != first["args"]["per_page"]:
                self.checker.broken("every page but the last is full", brief(page))
        found = [conversation["id"] for page in pages for conversation in page["got"]["conversations"]]
        if len(found) != len(set(found)):
            self.checker.broken("no conversation is on two pages", brief(first), found)
        if last["got"]["more"]:
            return
        missing = self.due(first) - set(found)
        if missing:
            self.checker.broken("a search finds acknowledged conversations", brief(first), missing)
        self.checker.counts["walks through pages"] += 1
