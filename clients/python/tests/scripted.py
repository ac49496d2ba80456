"""A real HTTP server on the loopback address that follows a script, and a clock that does not wait."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

KEY = "svc_live_0123456789abcdef"
CUT, HANG, DRIP, DRIP_HEAD, CLOSE_AFTER = "cut", "hang", "drip", "drip the head", "close after"
RESET = struct.pack("ii", 1, 0)


def answer(status=200, body=None, **headers):
    """A step of a script. A body of bytes is sent as it is."""
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, body


def refusal(status, code="server_error", **headers):
    errors = [{"code": code, "message": "told by a test", "field": "from.email"}]
    return answer(status, {"type": "error.list", "request_id": "r-1", "errors": errors}, **headers)


def conversation(**members):
    contacts = {"type": "contact.list", "contacts": []}
    others = ("external_id", "created_at", "updated_at", "last_message_at", "channel", "state", "open",
              "status", "message_count", "contact")
    return {"type": "conversation", "id": "c", "source": {"type": "api"}, "custom_attributes": {},
            "contacts": contacts, **dict.fromkeys(others), **members}


def asked_for(_, path, body):
    """A step that answers about the conversation that the request names."""
    sent = json.loads(body) if body else {}
    return answer(200, conversation(id=path.rpartition("/")[2], external_id=sent.get("external_id")))


PING = answer(200, {"type": "ping", "organization_id": "o", "scope": "full", "server_time": 1})


@dataclass
class Clock:
    """A clock that advances only in sleep()."""

    now: float = 1000.0
    waits: list = field(default_factory=list)

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


class Certificate:
    """Of a server at 127.0.0.1, signed by itself; in files that go with the object."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path, self.key = (Path(self.folder.name) / name for name in ("server.pem", "server.key"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "2", "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", self.key, "-out", self.path], check=True, stderr=subprocess.DEVNULL)

    def of_the_server(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path, self.key)
        return context

    def trusted(self):
        return ssl.create_default_context(cafile=self.path)

    def close(self):
        self.folder.cleanup()


class QuietServer(ThreadingHTTPServer):
    """Ignores errors of clients that disconnect, as they do in some tests."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *args):
        super().__init__(*args)
        self.open, self.changed = set(), threading.Condition()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def process_request(self, request, client_address):
        with self.changed:
            self.open.add(request)
        super().process_request(request, client_address)

    def close_request(self, request):
        super().close_request(request)
        with self.changed:
            self.open.discard(request)
            self.changed.notify_all()

    def shutdown_request(self, request):
        if request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, len(RESET)) == RESET:
            return self.close_request(request)
        super().shutdown_request(request)

    def close_all(self, is_reset):
        """Closes all connections, which must be idle, by an end or a reset."""
        with self.changed:
            for request in self.open:
                if is_reset:
                    request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                request.shutdown(socket.SHUT_RD)
            self.changed.wait_for(lambda: not self.open)


class ScriptedServer:
    """Uses one step of the script for each request, and the last step for all further requests.

    A step is an answer, one of the words above, a barrier to wait at before a PING, or a function of
    the method, path and body that returns an answer.
    """

    def __init__(self, *script, certificate=None):
        self.script, self.requests, self.ports = list(script), [], []
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_one(self):
                outer.take(self)

            do_GET = do_POST = do_PUT = handle_one

            def log_message(self, *_):
                pass

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            # Each connection's own thread does the handshake, not the thread that accepts.
            self.server.socket = certificate.of_the_server().wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False)
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}/api/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def take(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.requests.append((handler.command, handler.path, handler.headers, body))
        self.ports.append(handler.client_address[1])
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if step == CUT:
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
        elif step == HANG:
            self.released.wait()
        elif step in (DRIP, DRIP_HEAD):
            self.drip(handler, is_head=step == DRIP_HEAD)
        elif isinstance(step, threading.Barrier):
            step.wait()
            self.send(handler, *PING)
        else:
            self.send(handler, *(step(handler.command, handler.path, body) if callable(step) else step))

    def send(self, handler, status, headers, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        is_closed_silently = CLOSE_AFTER in headers
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            if name != CLOSE_AFTER:
                handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)
        handler.close_connection = bool(is_closed_silently) or handler.close_connection

    def drip(self, handler, is_head):
        """A byte every few milliseconds, without end."""
        head = b"HTTP/1.1 200 OK\r\nX-Long: " if is_head else b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
        try:
            handler.wfile.write(head)
            while not self.released.wait(0.005):
                handler.wfile.write(b" ")
                handler.wfile.flush()
        except OSError:
            handler.close_connection = True
