"""Over TLS, with a certificate that is trusted and one that is not. test_connections.py has the connections."""

import time
import unittest

from blocking import Blocking
from conversations_client import CertificateError, Client, NetworkError, RetryPolicy
from scripted import DRIP, DRIP_HEAD, KEY, PING, Certificate, Clock, ScriptedServer


class Tls(unittest.TestCase):
    kind = Client

    @classmethod
    def setUpClass(cls):
        cls.certificate = Certificate()
        cls.addClassCleanup(cls.certificate.close)

    def served(self, *script):
        return ScriptedServer(*script, certificate=self.certificate)

    def test_an_attempt_ends_at_its_timeout(self):
        policy = RetryPolicy(timeout=0.3, retries=0)
        for step in (DRIP, DRIP_HEAD):
            with self.served(step) as server, self.assertRaises(NetworkError) as raised:
                started = time.monotonic()
                with self.kind(server.url, KEY, ssl_context=self.certificate.trusted(), policy=policy) as client:
                    client.ping()
            self.assertLess(time.monotonic() - started, 15)
            self.assertRegex(str(raised.exception), "(?i)time")

    def test_a_certificate_that_is_not_trusted_is_final(self):
        clock = Clock()
        with self.served(PING) as server, self.assertRaises(CertificateError) as raised:
            with self.kind(server.url, KEY, clock=clock) as client:
                client.ping()
        self.assertEqual((raised.exception.attempts, clock.waits, server.requests), (1, [], []))
        self.assertRegex(str(raised.exception), "self.signed certificate")


class AsyncTls(Tls):
    kind = Blocking


if __name__ == "__main__":
    unittest.main()
