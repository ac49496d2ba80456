"""Which connections are kept, and what happens when the server closed one; plain and over TLS."""

import select
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from blocking import Blocking
from conversations_client import ApiError, Client, RetryPolicy, UnexpectedAnswerError, deadline
from scripted import (
    CLOSE_AFTER,
    CUT,
    KEY,
    PING,
    Certificate,
    Clock,
    ScriptedServer,
    answer,
    asked_for,
    conversation,
    refusal,
)

MANY = 8


class Connections(unittest.TestCase):
    kind, is_secure = Client, False

    @classmethod
    def setUpClass(cls):
        cls.certificate = Certificate() if cls.is_secure else None
        if cls.certificate:
            cls.addClassCleanup(cls.certificate.close)

    def served(self, *script):
        return ScriptedServer(*script, certificate=self.certificate)

    def client(self, server, **options):
        if self.certificate:
            options["ssl_context"] = self.certificate.trusted()
        client = self.kind(server.url, KEY, **options)
        self.addCleanup(client.close)
        return client

    def together(self, client, count):
        with ThreadPoolExecutor(count) as threads:
            return list(threads.map(lambda _: client.ping(), range(count)))

    def test_a_connection_is_kept(self):
        with self.served(PING) as server:
            client = self.client(server)
            for _ in range(3):
                self.assertEqual(client.ping().data.scope, "full")
            self.assertEqual(len(set(server.ports)), 1)

    def test_a_connection_is_kept_on_a_system_without_poll(self):
        with self.served(PING) as server, mock.patch.object(select, "poll"):
            del select.poll
            client = self.client(server)
            for _ in range(3):
                client.ping()
            self.assertEqual(len(set(server.ports)), 1)

    def test_an_error_leaves_the_connection_usable(self):
        with self.served(refusal(404), PING) as server:
            client = self.client(server)
            with self.assertRaises(ApiError):
                client.get_conversation("x")
            client.ping()
            self.assertEqual(len(set(server.ports)), 1)

    def test_one_that_the_server_says_it_closes_is_not_kept(self):
        with self.served(answer(200, PING[2], Connection="close"), PING) as server:
            client = self.client(server)
            self.assertEqual((client.ping().attempts, client.ping().attempts), (1, 1))
            self.assertEqual(len(server.requests), 2)

    def test_one_that_was_closed_meanwhile_is_no_failed_attempt(self):
        closing = answer(200, PING[2], **{CLOSE_AFTER: True})
        with self.served(closing, PING) as server:
            client = self.client(server, policy=RetryPolicy(retries=0))
            client.ping()
            self.assertEqual(client.ping().attempts, 1)
            self.assertEqual(len(set(server.ports)), 2)

    def idle(self, server, clock):
        """A client with many idle connections that may not wait or make another attempt."""
        client = self.client(server, clock=clock, policy=RetryPolicy(retries=0))
        self.together(client, MANY)
        self.assertEqual(len(set(server.ports)), MANY)
        server.requests.clear()
        return client

    def test_a_create_after_many_were_closed_is_one_request(self):
        for is_reset in (False, True):
            with self.subTest(is_reset=is_reset):
                everyone, clock = threading.Barrier(MANY), Clock()
                with self.served(*[everyone] * MANY, asked_for) as server:
                    client = self.idle(server, clock)
                    server.server.close_all(is_reset)
                    made = client.create_conversation("order-1", {"external_id": "user-7"})
                    self.assertEqual(made.attempts, 1)
                    self.assertEqual([body for _, _, _, body in server.requests],
                                     [b'{"external_id": "order-1", "from": {"external_id": "user-7"}}'])
                self.assertEqual(clock.waits, [])

    def test_one_that_breaks_before_the_answer_is_no_failed_attempt_however_many_there_are(self):
        everyone, clock = threading.Barrier(MANY), Clock()
        script = [everyone] * MANY + [CUT, asked_for] * MANY + [asked_for]
        with self.served(*script) as server:
            client = self.idle(server, clock)
            for number in range(MANY):
                made = client.create_conversation(f"order-{number}", {"external_id": "user-7"})
                self.assertEqual((made.attempts, made.data.external_id), (1, f"order-{number}"))
            self.assertEqual(len(server.requests), 2 * MANY)
        self.assertEqual(clock.waits, [])

    def test_a_fresh_one_that_breaks_is_a_failed_attempt(self):
        with self.served(CUT, asked_for) as server:
            made = self.client(server, clock=Clock()).create_conversation("order-1", {"external_id": "user-7"})
            self.assertEqual(made.attempts, 2)

    def test_one_that_breaks_within_the_answer_is_a_failed_attempt(self):
        short = answer(200, b'{"type":', Content_Length="100", **{CLOSE_AFTER: True})
        with self.served(PING, short, PING) as server:
            client = self.client(server, clock=Clock())
            self.assertEqual((client.ping().attempts, client.ping().attempts), (1, 2))

    def test_an_answer_about_another_conversation_is_an_error_and_ends_its_connection(self):
        other = answer(200, conversation(id="other", external_id="other"))
        for call in (
            lambda client: client.get_conversation("asked"),
            lambda client: client.update_conversation("asked", {"a": 1}),
            lambda client: client.create_conversation("asked", {"external_id": "user-7"}),
        ):
            with self.served(PING, other, PING) as server:
                client = self.client(server)
                client.ping()
                with self.assertRaises(UnexpectedAnswerError):
                    call(client)
                self.assertEqual(client.ping().attempts, 1)
                self.assertEqual([port == server.ports[0] for port in server.ports], [True, True, False])

    def test_an_id_in_capitals_is_the_same(self):
        with self.served(answer(200, conversation(id="0a-b"))) as server:
            self.assertEqual(self.client(server).get_conversation("0A-B").data.id, "0a-b")

    def test_a_client_that_was_closed_cannot_be_used(self):
        with self.served(PING) as server:
            client = self.client(server)
            client.ping()
            client.close() if self.kind is Client else client.aclose()
            with self.assertRaisesRegex(RuntimeError, "the client has been closed"):
                client.ping()
            self.assertEqual(len(server.ports), 1)


class SecureConnections(Connections):
    is_secure = True


class ClosedJustNow(unittest.TestCase):
    """The server closes the connections when the client has just looked whether it did."""

    def test_a_create_is_one_request(self):
        certificate = Certificate()
        self.addCleanup(certificate.close)
        for is_reset in (False, True):
            for used in (None, certificate):
                with self.subTest(is_reset=is_reset, is_secure=used is not None):
                    self.create(is_reset, used)

    def create(self, is_reset, certificate):
        everyone = threading.Barrier(MANY)
        with ScriptedServer(*[everyone] * MANY, asked_for, certificate=certificate) as server:
            with Client(server.url, KEY, policy=RetryPolicy(retries=0),
                        ssl_context=certificate and certificate.trusted()) as client:
                with ThreadPoolExecutor(MANY) as threads:
                    list(threads.map(lambda _: client.ping(), range(MANY)))
                server.requests.clear()
                server.server.close_all(is_reset)
                with mock.patch.object(deadline._Stream, "get_extra_info", return_value=None):
                    for number in range(MANY):
                        made = client.create_conversation(f"order-{number}", {"external_id": "user-7"})
                        self.assertEqual(made.attempts, 1)
            self.assertEqual(len(server.requests), MANY)


class AsyncConnections(Connections):
    kind = Blocking

    def together(self, client, count):
        return client.together(count, "ping")


class SecureAsyncConnections(AsyncConnections):
    is_secure = True


if __name__ == "__main__":
    unittest.main()
