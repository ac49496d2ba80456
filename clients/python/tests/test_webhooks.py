"""Which deliveries are accepted as the service's, and which are not."""

import re
import time
import unittest
from pathlib import Path

from conversations_client import WebhookError
from conversations_client.webhooks import verify

PAGE = (Path(__file__).resolve().parents[3] / "docs/webhooks.md").read_text(encoding="utf-8")


def told(name):
    """A line of the vector that docs/webhooks.md publishes."""
    return re.search(rf"^{name} +(.*)$", PAGE, re.MULTILINE)[1]


class Webhooks(unittest.TestCase):
    def setUp(self):
        self.secret, self.timestamp = told("secret"), told("timestamp")
        self.signature, self.body = told("signature"), told("body").encode()
        self.now = float(self.timestamp)

    def refused(self, *args, **options):
        with self.assertRaises(WebhookError):
            verify(*args, **{"now": self.now, **options})

    def test_the_published_vector_is_taken(self):
        event = verify(self.secret, self.timestamp, self.signature, self.body, now=self.now)
        self.assertEqual(event.id, "evt_01930b6e8c5f7a3e9d2c4b1a0f6e5d4c")
        self.assertEqual(event.type, "conversation.created")
        self.assertEqual(event.created_at, 1731000000)
        self.assertEqual(event.data["status"], "active")

    def test_what_was_changed_is_refused(self):
        secret, timestamp, signature, body = self.secret, self.timestamp, self.signature, self.body
        self.refused(secret, timestamp, signature, body + b" ")
        self.refused(secret, f"{timestamp}0", signature, body)
        self.refused(secret, f"{timestamp}\udc80", signature, body)
        self.refused(secret + "x", timestamp, signature, body)
        for other in (signature[:-1], signature.upper(), signature[3:], "v1=", "é", "\udc80", signature + ",x"):
            self.refused(secret, timestamp, other, body)

    def test_a_missing_header_is_refused(self):
        self.refused(self.secret, None, self.signature, self.body)
        self.refused(self.secret, self.timestamp, None, self.body)
        self.refused(self.secret, "", "", self.body)

    def test_the_window_is_300_seconds_both_ways(self):
        args = self.secret, self.timestamp, self.signature, self.body
        for now in (self.now - 300, self.now + 300):
            verify(*args, now=now)
        for now in (self.now - 301, self.now + 301, time.time()):
            self.refused(*args, now=now)
        verify(*args, now=self.now + 400, tolerance=500)

    def test_a_parsed_body_is_a_mistake_of_the_caller(self):
        with self.assertRaises(TypeError):
            verify(self.secret, self.timestamp, self.signature, self.body.decode())
        with self.assertRaises(ValueError):
            verify("", self.timestamp, self.signature, self.body)


if __name__ == "__main__":
    unittest.main()
