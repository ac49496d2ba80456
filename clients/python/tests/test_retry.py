"""What is retried, when, and how often; over real connections, with a clock that does not wait."""

import asyncio
import contextlib
import logging
import socket
import time
import unittest
from email.utils import formatdate
from unittest import mock

from blocking import Blocking
from conversations_client import (
    ApiError,
    Client,
    ConflictError,
    NetworkError,
    RateLimitError,
    RetryPolicy,
    ServerError,
    UnexpectedAnswerError,
)
from conversations_client.retry import retry_after_seconds
from scripted import (
    CLOSE_AFTER,
    CUT,
    DRIP,
    DRIP_HEAD,
    HANG,
    KEY,
    PING,
    Clock,
    ScriptedServer,
    answer,
    refusal,
)


class Retry(unittest.TestCase):
    kind = Client

    def setUp(self):
        self.clock = Clock()

    def client(self, server, jitter=1.0, url=None, **policy):
        client = self.kind(
            url or server.url, KEY, policy=RetryPolicy(**policy), clock=self.clock, jitter=lambda: jitter
        )
        self.addCleanup(client.close)
        return client

    def test_a_failure_of_the_service_or_the_network_is_tried_again(self):
        for step in (*(refusal(status) for status in (429, 500, 502, 503, 504)), CUT):
            with self.subTest(step), ScriptedServer(step, PING) as server:
                self.assertEqual(self.client(server).ping().attempts, 2)

    def test_an_answer_that_breaks_off_is_tried_again(self):
        headers = {"Content_Length": "100", CLOSE_AFTER: "yes"}
        with ScriptedServer(answer(200, b'{"type":', **headers), PING) as server:
            self.assertEqual(self.client(server).ping().attempts, 2)

    def test_a_refusal_is_final(self):
        for status in (301, 400, 401, 403, 404, 405, 406, 409, 413, 415, 417):
            with self.subTest(status), ScriptedServer(refusal(status), PING) as server:
                with self.assertRaises(ApiError) as raised:
                    self.client(server).ping()
                self.assertEqual(raised.exception.status, status)
                self.assertEqual(len(server.requests), 1)

    def test_there_are_five_more_attempts_and_ever_longer_waits(self):
        with ScriptedServer(refusal(503)) as server:
            with self.assertRaises(ServerError) as raised:
                self.client(server).ping()
            self.assertEqual(len(server.requests), 6)
        self.assertEqual(raised.exception.attempts, 6)
        self.assertEqual(self.clock.waits, [1, 2, 4, 8, 16])

    def test_waits_are_bounded_and_random(self):
        with ScriptedServer(refusal(503)) as server, self.assertRaises(ServerError):
            self.client(server, jitter=0.5, backoff_max=5.0).ping()
        self.assertEqual(self.clock.waits, [0.5, 1, 2, 2.5, 2.5])

    def test_retry_after_comes_before_the_random_wait(self):
        with ScriptedServer(refusal(429, "rate_limit_exceeded", Retry_After="7"), PING) as server:
            self.client(server, jitter=0.25).ping()
        self.assertEqual(self.clock.waits, [7.25])

    def test_retry_after_may_be_a_date(self):
        later = formatdate(time.time() + 40, usegmt=True)
        with ScriptedServer(refusal(503, Retry_After=later), PING) as server:
            self.client(server, jitter=0.0).ping()
        self.assertTrue(30 < self.clock.waits[0] <= 40, self.clock.waits)

    def test_what_retry_after_asks_for(self):
        now = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT
        for text, seconds in (
            ("0", 0), ("12", 12), (" 5 ", 5), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
            ("Sunday, 06-Nov-94 08:49:47 GMT", 10), ("Sun Nov  6 08:49:47 1994", 10),
            ("Sun, 06 Nov 1994 08:49:27 GMT", 0),
            (None, 0), ("", 0), ("soon", 0), ("-5", 0), ("1.5", 0), ("١٢", 0), ("nan", 0), ("Sun", 0),
            ("Sun, 06 Nov 99999 08:49:47 GMT", 0), ("Feb , , -0000 6 +0100 Sunday", 0),
        ):
            # Of the standard library, only what is the same in every version since 3.9. There,
            # parsedate_to_datetime() has another error for what is no date.
            with mock.patch("email.utils.parsedate_to_datetime", side_effect=TypeError):
                self.assertEqual(retry_after_seconds(text, now), seconds, text)

    def test_a_date_is_in_utc_wherever_the_client_is(self):
        now = 784111777.0
        self.addCleanup(time.tzset)
        with mock.patch.dict("os.environ", TZ="EST5"):
            time.tzset()
            for text in ("Sun, 06 Nov 1994 08:49:47 GMT", "Sun Nov  6 08:49:47 1994"):
                self.assertEqual(retry_after_seconds(text, now), 10, text)

    def test_no_wait_is_begun_that_ends_after_the_budget(self):
        with ScriptedServer(refusal(429, "rate_limit_exceeded", Retry_After="60")) as server:
            with self.assertRaises(RateLimitError) as raised:
                self.client(server).ping(budget=10)
            self.assertEqual(len(server.requests), 1)
        self.assertEqual(self.clock.waits, [])
        self.assertEqual(raised.exception.retry_after, 60)

    def test_the_budget_bounds_all_attempts_together(self):
        with ScriptedServer(refusal(503)) as server, self.assertRaises(ServerError):
            self.client(server, budget=8.0).ping()
        self.assertEqual(self.clock.waits, [1, 2, 4])

    def test_an_attempt_ends_at_its_timeout(self):
        for step in (HANG, DRIP, DRIP_HEAD):
            with self.subTest(step), ScriptedServer(step) as server:
                started = time.monotonic()
                with self.assertRaises(NetworkError) as raised:
                    self.client(server, timeout=0.2, retries=0).ping()
                self.assertLess(time.monotonic() - started, 15)
                # Three classes in Python 3.9, and one in 3.11.
                kinds = (TimeoutError, socket.timeout, asyncio.TimeoutError)
                self.assertIsInstance(raised.exception.__cause__, kinds)

    def test_all_addresses_of_a_host_share_the_timeout(self):
        # Nothing accepts connections, and the full queue admits no others.
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as waiting:
            for _ in range(3):
                other = waiting.enter_context(socket.socket())
                other.setblocking(False)
                other.connect_ex(full.getsockname())
            addresses = socket.getaddrinfo(*full.getsockname(), type=socket.SOCK_STREAM) * 40
            client = self.client(None, url="http://many.example", timeout=0.5, retries=0)
            with mock.patch("socket.getaddrinfo", return_value=addresses):
                started = time.monotonic()
                with self.assertRaises(NetworkError):
                    client.ping()
                self.assertLess(time.monotonic() - started, 10)

    def test_the_next_address_is_tried_when_one_refuses(self):
        with ScriptedServer(PING) as server, socket.create_server(("127.0.0.1", 0)) as closed:
            free, port = closed.getsockname()[1], server.server.server_address[1]
            closed.close()
            addresses = [one for where in (free, port)
                         for one in socket.getaddrinfo("127.0.0.1", where, type=socket.SOCK_STREAM)]
            with mock.patch("socket.getaddrinfo", return_value=addresses):
                self.assertEqual(self.client(server).ping().attempts, 1)

    def test_a_budget_shorter_than_the_timeout_ends_the_attempt(self):
        with ScriptedServer(HANG) as server, self.assertRaises(NetworkError):
            self.client(server).ping(budget=0.2)

    def test_nobody_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        client = self.client(None, url=url, retries=2)
        with self.assertRaises(NetworkError) as raised:
            client.ping()
        self.assertEqual(raised.exception.attempts, 3)

    def test_a_success_that_is_no_json_is_not_tried_again(self):
        for body in (b"<html>", {"type": "ping"}, [1]):
            with self.subTest(body), ScriptedServer(answer(200, body)) as server:
                with self.assertRaises(UnexpectedAnswerError):
                    self.client(server).ping()
                self.assertEqual(len(server.requests), 1)

    def test_an_answer_is_never_the_cause_of_another_kind_of_error(self):
        deep = b"[" * 100_000
        for step, kind in (
            (answer(200, deep), UnexpectedAnswerError), (answer(400, deep), ApiError),
            (answer(400, {"type": "error.list", "request_id": "r", "errors": [None]}), ApiError),
        ):
            with ScriptedServer(step) as server, self.assertRaises(kind):
                self.client(server).ping()

    def test_a_rate_limit_that_makes_no_sense_is_left_out(self):
        for text in ("9" * 5000, "-1", "1.5", "many", ""):
            headers = {"X_RateLimit_Limit": text, "X_RateLimit_Remaining": "1", "X_RateLimit_Reset": "1"}
            with self.subTest(text[:9]), ScriptedServer(answer(200, PING[2], **headers)) as server:
                self.assertIsNone(self.client(server).ping().rate_limit)

    def test_the_same_is_sent_again(self):
        conflict = refusal(409, "external_id_conflict")
        with ScriptedServer(CUT, refusal(500), conflict) as server:
            with self.assertRaises(ConflictError):
                self.client(server).create_conversation("order-1", {"external_id": "ü"})
            self.assertEqual(len({body for _, _, _, body in server.requests}), 1)
            self.assertEqual(len(server.requests), 3)


class AsyncRetry(Retry):
    kind = Blocking

    # anyio chooses among the addresses, and passes on the port that it was given.
    test_the_next_address_is_tried_when_one_refuses = None


class Secrets(unittest.TestCase):
    kind = Client

    def test_the_key_is_in_no_text(self):
        with ScriptedServer(refusal(503), CUT, refusal(401)) as server:
            client = self.kind(server.url, KEY, clock=Clock())
            self.addCleanup(client.close)
            with self.assertLogs(None, logging.DEBUG) as logs:
                with self.assertRaises(ApiError) as raised:
                    client.ping()
            self.assertEqual(server.requests[0][2]["Authorization"], f"Bearer {KEY}")
            error = raised.exception
            for text in (repr(client), str(client), repr(error), str(error), *logs.output):
                self.assertNotIn(KEY, text)

    def test_the_key_is_not_in_what_an_error_was_caused_by(self):
        with ScriptedServer(CUT) as server:
            client = self.kind(server.url, KEY, clock=Clock())
            self.addCleanup(client.close)
            with self.assertRaises(NetworkError) as raised:
                client.ping()
        found, chain = [], [raised.exception]
        for error in chain:
            chain += [one for one in (error.__cause__, error.__context__) if one and one not in chain]
            found += [error, *error.args, *vars(error).values()]
        self.assertGreater(len(chain), 1)
        for one in found:
            self.assertNotIn(KEY, f"{one} {one!r} {getattr(one, 'headers', '')!r}")
            self.assertFalse(hasattr(one, "headers"), one)

    def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(self):
        for key in ("", f"{KEY}\n", f" {KEY}", f"{KEY}é", f"{KEY}\r\nX: y"):
            with self.assertRaises(ValueError) as raised:
                Client("https://localhost", key)
            self.assertNotIn(KEY, str(raised.exception))

    def test_a_url_that_is_none_is_refused(self):
        for url in ("localhost:8080", "ftp://localhost", "https://", "https://a:b@localhost", "http://a?b"):
            with self.assertRaises(ValueError):
                Client(url, KEY)


class AsyncSecrets(Secrets):
    kind = Blocking


if __name__ == "__main__":
    unittest.main()
