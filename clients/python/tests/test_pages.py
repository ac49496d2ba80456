"""All pages of a list, over real connections."""

import json
import unittest

from blocking import Blocking
from conversations_client import BadRequestError, Client, UnexpectedAnswerError
from scripted import KEY, Clock, ScriptedServer, answer, refusal

QUERY = {"field": "contact.external_id", "operator": "=", "value": "user-7"}


def page(*ids, following=None):
    members = ("request_id", "api_key_id", "operation", "http_status", "outcome", "denial_reason",
               "conversation_id", "contact_id", "created_at")
    entries = [{"type": "audit_log", "id": one, **dict.fromkeys(members)} for one in ids]
    pages = {"type": "pages", "per_page": 2}
    if following:
        pages["next"] = {"starting_after": following}
    return answer(200, {"type": "audit_log.list", "audit_logs": entries, "pages": pages})


GONE = refusal(400, "invalid_cursor")


class Pages(unittest.TestCase):
    kind = Client

    def listed(self, server, **options):
        with self.kind(server.url, KEY, clock=Clock()) as client:
            return [entry.id for entry in client.audit_logs(**options)]

    def test_every_page_is_asked_for_until_one_has_no_next(self):
        with ScriptedServer(page("a", "b", following="1"), page(following="2 &"), page("c")) as server:
            self.assertEqual(self.listed(server, per_page=2, outcome="denied"), ["a", "b", "c"])
            self.assertEqual([path for _, path, _, _ in server.requests], [
                "/api/v1/audit?per_page=2&outcome=denied",
                "/api/v1/audit?per_page=2&starting_after=1&outcome=denied",
                "/api/v1/audit?per_page=2&starting_after=2+%26&outcome=denied"])

    def test_an_item_that_comes_twice_is_given_once(self):
        with ScriptedServer(page("a", "b", following="1"), page("b", "c")) as server:
            self.assertEqual(self.listed(server), ["a", "b", "c"])

    def test_a_failure_in_between_is_tried_again_with_the_same_cursor(self):
        with ScriptedServer(page("a", following="1"), refusal(503), page("b")) as server:
            self.assertEqual(self.listed(server), ["a", "b"])
            self.assertEqual(server.requests[1][1], server.requests[2][1])

    def test_nothing_is_asked_for_before_it_is_wanted(self):
        with ScriptedServer(page("a", following="1")) as server, self.kind(server.url, KEY) as client:
            entries = client.audit_logs()
            self.assertEqual(len(server.requests), 0)
            next(entries)
            self.assertEqual(len(server.requests), 1)
            entries.close()

    def test_a_cursor_that_is_no_longer_valid_is_an_error(self):
        with ScriptedServer(page("a", following="1"), GONE) as server:
            with self.assertRaises(BadRequestError) as raised:
                self.listed(server)
            self.assertEqual(raised.exception.code, "invalid_cursor")

    def test_a_restart_is_reported_and_yields_nothing_twice(self):
        told = []
        script = page("a", following="1"), GONE, page("b", "a", following="2"), page("c")
        with ScriptedServer(*script) as server:
            self.assertEqual(self.listed(server, on_restart=told.append), ["a", "b", "c"])
            self.assertNotIn("starting_after", server.requests[2][1])
        self.assertEqual([error.code for error in told], ["invalid_cursor"])

    def test_restarts_that_bring_nothing_new_end(self):
        first, told = page("a", following="1"), []
        with ScriptedServer(first, GONE, first, GONE, first) as server:
            with self.assertRaises(BadRequestError):
                self.listed(server, on_restart=told.append)
        self.assertEqual(len(told), 1)

    def test_only_a_list_that_may_restart_remembers_all_of_it(self):
        script = page("a", "b", following="1"), page("c", following="2"), page("a")
        for options, ids in (({}, "abca"), ({"on_restart": print}, "abc")):
            with ScriptedServer(*script) as server:
                self.assertEqual("".join(self.listed(server, **options)), ids)

    def test_a_cursor_that_leads_to_itself_is_an_error(self):
        script = page("a", following="1"), page("b", following="1")
        with ScriptedServer(*script) as server, self.kind(server.url, KEY) as client:
            entries = client.audit_logs()
            self.assertEqual([next(entries).id, next(entries).id], ["a", "b"])
            with self.assertRaises(UnexpectedAnswerError):
                next(entries)
            self.assertEqual(len(server.requests), 2)

    def test_another_refusal_is_no_restart(self):
        told = []
        with ScriptedServer(page("a", following="1"), refusal(400, "parameter_invalid")) as server:
            with self.assertRaises(BadRequestError):
                self.listed(server, on_restart=told.append)
        self.assertEqual(told, [])

    def test_a_search_sends_the_same_body_but_for_the_cursor(self):
        lists = [{"type": "conversation.list", "conversations": [], "total_count": 0,
                  "pages": {"type": "pages", "page": 1, "per_page": 3}} for _ in range(2)]
        lists[0]["pages"]["next"] = {"starting_after": "1"}
        with ScriptedServer(*(answer(200, one) for one in lists)) as server:
            with self.kind(server.url, KEY) as client:
                self.assertEqual(list(client.conversations(QUERY, per_page=3)), [])
            bodies = [json.loads(body) for _, _, _, body in server.requests]
        self.assertEqual(bodies, [
            {"query": QUERY, "pagination": {"starting_after": cursor, "per_page": 3}}
            for cursor in (None, "1")])


class AsyncPages(Pages):
    kind = Blocking


if __name__ == "__main__":
    unittest.main()
