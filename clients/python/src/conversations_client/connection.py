"""An HTTP connection whose exchanges end at a deadline.

The timeout of a socket bounds only single operations: a server that sends a byte now and then could
keep a request busy forever.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from typing import Any


class _Reader(io.RawIOBase):
    """Reads from a socket until its deadline."""

    def __init__(self, sock: TimedSocket, raw: socket.SocketIO) -> None:
        self._sock = sock
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.arm()
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class TimedSocket:
    """The part of a socket that http.client uses, with one deadline for all operations."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.deadline = 0.0

    def arm(self) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)

    def sendall(self, data: Any) -> None:
        self.arm()
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self, self._sock.makefile("rb", buffering=0)))

    def close(self) -> None:
        self._sock.close()


def _connect(host: str, port: int, deadline: float) -> socket.socket:
    """Connects to the first address of ``host`` that answers.

    The addresses share the time that is left; socket.create_connection would give all of it to each.
    Only the resolver bounds the lookup of the name.
    """
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure = OSError(f"{host} has no address")
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        left = max(deadline - time.monotonic(), 0.001)
        sock = None
        try:
            sock = socket.socket(family, kind, protocol)
            sock.settimeout(left / (len(addresses) - number))
            sock.connect(address)
            return sock
        except BaseException as error:
            if sock is not None:
                sock.close()
            if not isinstance(error, OSError):
                raise
            failure = error
    raise failure


class Connection:
    """One connection, for one request at a time."""

    def __init__(
        self, host: str, port: int, context: ssl.SSLContext | None, deadline: float
    ) -> None:
        if context is None:
            self._http = http.client.HTTPConnection(host, port)
        else:
            self._http = http.client.HTTPSConnection(host, port, context=context)
        sock = _connect(host, port, deadline)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                sock.settimeout(max(deadline - time.monotonic(), 0.001))
                sock = context.wrap_socket(sock, server_hostname=host)
        except BaseException:
            sock.close()
            raise
        self._socket = TimedSocket(sock)
        self._http.sock = self._socket

    def exchange(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: dict[str, str],
        deadline: float,
        size_max: int,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Returns the status, headers and body of the answer.

        If the body is larger than ``size_max``, returns one byte more than that; the connection can
        then no longer be used.
        """
        self._socket.deadline = deadline
        self._http.request(method, target, body, headers)
        response = self._http.getresponse()
        content = response.read(size_max + 1)
        # With a size, read() treats the end of the connection as the end of the body.
        if response.length and len(content) <= size_max:
            raise http.client.IncompleteRead(content, response.length)
        return response.status, response.headers, content

    @property
    def is_open(self) -> bool:
        """False once the server has announced that it closes the connection."""
        return self._http.sock is not None

    def close(self) -> None:
        self._http.close()
