"""A real HTTP server on the loopback address that follows a script, and a clock that does not wait."""

from __future__ import annotations

import json
import socket
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "svc_live_0123456789abcdef"
CUT, HANG, DRIP, CLOSE_AFTER = "cut", "hang", "drip", "close after"


def answer(status=200, body=None, **headers):
    """A step of a script. A body of bytes is sent as it is."""
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, body


def refusal(status, code="server_error", **headers):
    errors = [{"code": code, "message": "told by a test", "field": "from.email"}]
    return answer(status, {"type": "error.list", "request_id": "r-1", "errors": errors}, **headers)


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


class QuietServer(ThreadingHTTPServer):
    """Ignores errors of clients that disconnect, as they do in some tests."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class ScriptedServer:
    """Uses one step of the script for each request, and the last step for all further requests."""

    def __init__(self, *script):
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
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/api/v1"
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
        elif step == DRIP:
            self.drip(handler)
        else:
            self.send(handler, *step)

    def send(self, handler, status, headers, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        is_closed_silently = headers.pop(CLOSE_AFTER, None)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)
        handler.close_connection = bool(is_closed_silently) or handler.close_connection

    def drip(self, handler):
        """A byte every few milliseconds, without end."""
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        try:
            while not self.released.wait(0.005):
                handler.wfile.write(b" ")
                handler.wfile.flush()
        except OSError:
            handler.close_connection = True
