"""Over TLS, with a certificate that is trusted and one that is not."""

import ssl
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from conversations_client import CertificateError, Client, NetworkError, RetryPolicy
from scripted import DRIP, KEY, PING, Clock, ScriptedServer


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.certificate, cls.key = (Path(folder.name) / name for name in ("server.pem", "server.key"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "2", "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", cls.key, "-out", cls.certificate], check=True, stderr=subprocess.DEVNULL)

    def served(self, *script):
        server = ScriptedServer(*script)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        # Each connection's own thread does the handshake, not the thread that accepts.
        server.server.socket = context.wrap_socket(
            server.server.socket, server_side=True, do_handshake_on_connect=False)
        server.url = server.url.replace("http:", "https:")
        return server

    def trusting(self):
        return ssl.create_default_context(cafile=self.certificate)

    def test_a_trusted_server_is_spoken_to_over_one_connection(self):
        with self.served(PING) as server:
            with Client(server.url, KEY, ssl_context=self.trusting()) as client:
                for _ in range(3):
                    self.assertEqual(client.ping().data.scope, "full")
            self.assertEqual(len(set(server.ports)), 1)

    def test_an_attempt_ends_at_its_timeout(self):
        policy = RetryPolicy(timeout=0.3, retries=0)
        with self.served(DRIP) as server, self.assertRaises(NetworkError) as raised:
            started = time.monotonic()
            Client(server.url, KEY, ssl_context=self.trusting(), policy=policy).ping()
        self.assertLess(time.monotonic() - started, 15)
        self.assertIsInstance(raised.exception.__cause__, TimeoutError)

    def test_a_certificate_that_is_not_trusted_is_final(self):
        clock = Clock()
        with self.served(PING) as server, self.assertRaises(CertificateError) as raised:
            Client(server.url, KEY, clock=clock).ping()
        self.assertEqual((raised.exception.attempts, clock.waits, server.requests), (1, [], []))


if __name__ == "__main__":
    unittest.main()
