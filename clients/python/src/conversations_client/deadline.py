"""The network for httpx in threads, with one deadline for all that a request does.

The timeouts of httpx bound single operations: a server that sends a byte now and then could keep a
request busy forever. Here the timeouts that a request has are moments of ``time.monotonic()``.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from typing import Any, cast

import httpcore
import httpx

from .exchange import LIMITS


class Transport(httpx.BaseTransport):
    """As httpx.HTTPTransport, but over the network below. Requests have the timeouts of ``until()``."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            max_connections=LIMITS.max_connections,
            max_keepalive_connections=LIMITS.max_keepalive_connections,
            keepalive_expiry=LIMITS.keepalive_expiry,
            # It takes any object with these methods.
            network_backend=cast(Any, _Network()),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        answer = self._pool.handle_request(
            httpcore.Request(
                request.method,
                httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.read(),
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


def until(deadline: float) -> dict[str, float]:
    """The timeouts of a request."""
    left = max(deadline - time.monotonic(), 0.001)
    return {"connect": deadline, "write": deadline, "read": deadline, "pool": left}


@contextlib.contextmanager
def _errors(timeout: type[Exception], other: type[Exception]) -> Iterator[None]:
    """Raises the errors of httpcore in place of the system's."""
    try:
        yield
    except socket.timeout as error:
        raise timeout(error) from error
    except OSError as error:
        raise other(error) from error


def _arm(sock: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout("timed out")
    sock.settimeout(left)


class _Network:
    """Connects; a NetworkBackend of httpcore."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _Stream:
        """Connects to the first address of ``host`` that answers.

        The addresses share the time that is left; socket.create_connection would give all of it to
        each. Only the resolver bounds the lookup of the name.
        """
        with _errors(httpcore.ConnectTimeout, httpcore.ConnectError):
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            failure = OSError(f"{host} has no address")
            for number, (family, kind, protocol, _, address) in enumerate(addresses):
                left = max(timeout - time.monotonic(), 0.001)
                sock = socket.socket(family, kind, protocol)
                try:
                    sock.settimeout(left / (len(addresses) - number))
                    sock.connect(address)
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    return _Stream(sock)
                except BaseException as error:
                    sock.close()
                    if not isinstance(error, OSError):
                        raise
                    failure = error
            raise failure


class _Stream:
    """A connection; a NetworkStream of httpcore."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str, timeout: float
    ) -> _Stream:
        with _errors(httpcore.ConnectTimeout, httpcore.ConnectError):
            try:
                _arm(self._socket, timeout)
                return _Stream(
                    ssl_context.wrap_socket(self._socket, server_hostname=server_hostname)
                )
            except BaseException:
                self.close()
                raise

    def read(self, max_bytes: int, timeout: float) -> bytes:
        with _errors(httpcore.ReadTimeout, httpcore.ReadError):
            _arm(self._socket, timeout)
            return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float) -> None:
        with _errors(httpcore.WriteTimeout, httpcore.WriteError):
            while buffer:
                _arm(self._socket, timeout)
                buffer = buffer[self._socket.send(buffer) :]

    def close(self) -> None:
        self._socket.close()

    def get_extra_info(self, info: str) -> Any:
        """Whether an idle connection is readable: then the server has closed it."""
        if info != "is_readable":
            return None
        try:
            self._socket.settimeout(0)
            # Below TLS; unlike select(), for any number of sockets, and unlike poll(), on every system.
            socket.socket.recv(self._socket, 1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True
