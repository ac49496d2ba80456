"""Each conversation that was created has one event, which was delivered."""

import collections
import itertools

# services/webhook/sql/recover.sql: after three attempts that were cut off there are no more.
ATTEMPTS_MAX = 3


class Events:
    def __init__(self, checker, org):
        self.checker, self.history, self.org = checker, checker.history, org
        self.events = collections.defaultdict(list)  # event id: deliveries
        self.of = collections.defaultdict(set)       # conversation: event ids
        for delivery in sorted(self.history.deliveries, key=lambda delivery: delivery["at"]):
            if delivery["org"] == org:
                self.events[delivery["event"]].append(delivery)
                self.of[((delivery["body"] or {}).get("data") or {}).get("id")].add(delivery["event"])

    def check(self):
        there = self.history.ids_there(self.org)
        for conversation in there:
            events = self.of.get(conversation, ())
            if not events:
                self.checker.broken("each event is delivered", self.org, conversation)
            if len(events) > 1:
                self.checker.broken("a conversation has one event", self.org, conversation, events)
        for conversation in self.of.keys() - there:
            self.checker.broken("an event is about an existing conversation", self.org, conversation)
        for deliveries in self.events.values():
            for delivery in deliveries:
                self.check_form(delivery)
            self.check_attempts(deliveries)
        self.checker.counts["events"] += len(self.events)

    def check_form(self, delivery):
        body = delivery["body"] or {}
        if not delivery["signed"]:
            self.checker.broken("a delivery is signed", delivery)
        if body.get("id") != delivery["event"] or body.get("type") != "conversation.created" or \
                delivery["header"] != body["type"] or \
                (body.get("data") or {}).keys() != {"id", "channel", "status"}:
            self.checker.broken("a delivery has the documented form", delivery)

    def check_attempts(self, deliveries):
        broken = self.checker.broken
        if len({delivery["delivery"] for delivery in deliveries}) < len(deliveries):
            broken("each attempt has its own id", deliveries)
        if len(deliveries) > ATTEMPTS_MAX:
            broken("an event arrives at most three times", deliveries)
        self.checker.counts["events that came twice"] += len(deliveries) > 1
        for one, next_one in itertools.pairwise(deliveries):
            if not self.checker.causes.cut_off_delivery(one["at"], next_one["at"]):
                broken("an event arrives again only after an interrupted attempt", deliveries)
