"""Every operation against a running service, given by BASE_URL, FULL_KEY and READ_KEY."""

import os
import threading
import time
import unittest
import uuid

from blocking import Blocking
from conversations_client import (
    BadRequestError,
    Client,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    UnauthorizedError,
)

BASE_URL, FULL_KEY, READ_KEY = (os.environ[name] for name in ("BASE_URL", "FULL_KEY", "READ_KEY"))


def of(user):
    return {"field": "contact.external_id", "operator": "=", "value": user}


class Service(unittest.TestCase):
    kind = Client

    def setUp(self):
        self.client = self.kind(BASE_URL, FULL_KEY)
        self.addCleanup(self.client.close)
        self.user = f"python-{uuid.uuid4()}"

    def create(self, order, **more):
        return self.client.create_conversation(
            f"{self.user}-{order}", {"external_id": self.user, **more}, {"plan": "pro", "seats": 10**22})

    def test_ping_says_whose_key_it_is(self):
        answer = self.client.ping()
        self.assertEqual(answer.data.scope, "full")
        self.assertEqual(answer.status, 200)
        self.assertEqual(str(uuid.UUID(answer.request_id)), answer.request_id)

    def test_an_answer_has_the_rate_limit(self):
        limit = self.client.ping().rate_limit
        self.assertTrue(0 <= limit.remaining < limit.limit)
        self.assertLess(abs(limit.reset - time.time()), 60)

    def test_a_create_is_done_once(self):
        made, again = self.create(1, name="Ada"), self.create(1, name="Ada")
        self.assertEqual((made.status, made.replayed), (201, False))
        self.assertEqual((again.status, again.replayed), (200, True))
        self.assertEqual(again.data, made.data)
        self.assertEqual(made.data.contact.name, "Ada")
        self.assertEqual(made.data.custom_attributes, {"plan": "pro", "seats": 10**22})

    def test_get_and_update(self):
        made = self.create(1).data
        changed = self.client.update_conversation(made.id, {"seats": 2.5, "plan": None, "is_vip": True}).data
        self.assertEqual(changed.custom_attributes, {"seats": 2.5, "is_vip": True})
        self.assertEqual(self.client.get_conversation(made.id).data, changed)

    def test_a_search_page_by_page_and_as_a_whole(self):
        made = [self.create(order).data.id for order in range(5)][::-1]
        page = self.client.search_conversations(of(self.user), per_page=2).data
        self.assertEqual([page.total_count, page.pages.page, page.pages.per_page], [5, 1, 2])
        following = self.client.search_conversations(
            of(self.user), per_page=2, starting_after=page.pages.next.starting_after).data
        self.assertEqual([one.id for one in page.conversations + following.conversations], made[:4])
        self.assertEqual([one.id for one in self.client.conversations(of(self.user), per_page=2)], made)

    def test_filters(self):
        made = self.create(1).data
        for field, operator, value, finds in (
            ("external_id", "IN", [made.external_id], True), ("status", "NIN", ["active"], False),
            ("custom_attributes.plan", "=", "pro", True), ("created_at", ">", made.created_at, False),
            ("channel", "!=", "api", False), ("state", "=", "open", True),
        ):
            narrower = {"field": field, "operator": operator, "value": value}
            group = {"operator": "AND", "value": [of(self.user), narrower]}
            self.assertEqual(len(list(self.client.conversations(group))), int(finds), narrower)

    def test_the_audit_log(self):
        made = self.create(1).data
        self.client.update_conversation(made.id, {"a": 1})
        with self.kind(BASE_URL, READ_KEY) as reader:
            logs = list(reader.audit_logs(conversation_id=made.id, per_page=1))
            page = reader.list_audit_logs(conversation_id=made.id, operation="conversation.update").data
        self.assertEqual([log.operation for log in logs], ["conversation.update", "conversation.create"])
        self.assertEqual([log.id for log in page.audit_logs], [logs[0].id])
        self.assertEqual((logs[0].http_status, logs[0].outcome, logs[0].denial_reason), (200, "allowed", None))

    def test_refusals(self):
        stranger = self.kind(BASE_URL, "svc_live_x")
        reader = self.kind(BASE_URL, READ_KEY)
        self.addCleanup(stranger.close)
        self.addCleanup(reader.close)
        made = self.create(1).data
        other = {"external_id": f"{self.user}-other"}
        for kind, code, call in (
            (UnauthorizedError, "unauthorized", stranger.ping),
            (ForbiddenError, "insufficient_scope", lambda: reader.create_conversation("a", other)),
            (NotFoundError, "not_found", lambda: reader.get_conversation(str(uuid.uuid4()))),
            (NotFoundError, "not_found", lambda: reader.get_conversation("../ping?")),
            (ConflictError, "external_id_conflict",
             lambda: self.client.create_conversation(made.external_id, other)),
            (BadRequestError, "parameter_invalid", lambda: reader.list_audit_logs(per_page=0)),
            (BadRequestError, "invalid_cursor", lambda: reader.list_audit_logs(starting_after="x")),
        ):
            with self.assertRaises(kind) as raised:
                call()
            self.assertEqual(raised.exception.code, code)
            self.assertEqual(str(uuid.UUID(raised.exception.request_id)), raised.exception.request_id)
            self.assertEqual(raised.exception.attempts, 1)

    def test_all_errors_of_a_request_are_listed(self):
        with self.assertRaises(BadRequestError) as raised:
            self.client.create_conversation("", {"external_id": "a", "name": "x" * 256})
        self.assertEqual([error.field for error in raised.exception.errors], ["external_id", "from.name"])

    def test_threads_share_a_client(self):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.create(1))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({answer.data.id for answer in answers}), 1)
        self.assertEqual([answer.replayed for answer in answers].count(False), 1)


class AsyncService(Service):
    kind = Blocking

    # Only one thread may use the event loop.
    test_threads_share_a_client = None


if __name__ == "__main__":
    unittest.main()
