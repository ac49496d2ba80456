"""One request and its answer over httpx, as far as both clients do the same. Nothing here sends.

The clients use the transports of httpx, which keep connections. Above them httpx would follow
redirects, keep cookies, and put the request with its key into every error.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import httpcore
import httpx

from .call import Call, Response
from .errors import CertificateError, NetworkError, UnexpectedAnswerError
from .version import VERSION

ANSWER_MAX = 64 << 20
# httpcore 1.0 closes a connection that becomes idle while more are open than may be kept: so all may be kept.
LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=5.0)


# Of both networks. Those of httpcore have no other common base than Exception.
TIMEOUTS = (httpx.TimeoutException, httpcore.TimeoutException, socket.timeout)
FAILURES = (httpx.TransportError, httpcore.NetworkError, httpcore.ProtocolError, *TIMEOUTS, OSError)


class KeptConnectionLost(Exception):
    """A connection that was kept from an earlier request broke before the answer began."""


class Service:
    """Where the requests go, and with which key."""

    def __init__(self, base_url: str, api_key: str, context: ssl.SSLContext | None) -> None:
        url = urllib.parse.urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError("base_url must be a URL such as https://example.com/api/v1")
        if url.username is not None or url.query or url.fragment:
            raise ValueError("base_url must have no user, no query and no fragment")
        # Checked here because an error of httpx would contain the refused key.
        if not api_key or not all("!" <= letter <= "~" for letter in api_key):
            raise ValueError("api_key must be printable ASCII without spaces")
        self.base_url = base_url.rstrip("/")
        self._api_key = api_key
        is_tls = url.scheme == "https"
        self.context = (context or ssl.create_default_context()) if is_tls else None

    def __repr__(self) -> str:
        return f"Service({self.base_url!r})"

    def request(self, call: Call[Any], extensions: dict[str, Any]) -> httpx.Request:
        headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self._api_key}",
            "User-Agent": f"conversations-client-python/{VERSION}",
        }
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        url = self.base_url + call.path
        return httpx.Request(
            call.method, url, headers=headers, content=call.body, extensions=extensions
        )


class Exchange:
    """A request while it is sent and its answer is read.

    ``timeouts`` returns the timeouts of httpx; it is called again before each step.
    """

    def __init__(self, timeouts: Callable[[], dict[str, float]]) -> None:
        self._timeouts = timeouts
        self._current = timeouts()
        self._is_kept = True
        self._chunks: list[bytes] = []
        self._size = 0

    def extensions(self, trace: Callable[..., Any]) -> dict[str, Any]:
        """Of the request. ``trace`` is one of the two methods below."""
        return {"timeout": self._current, "trace": trace}

    def trace(self, event: str, _info: dict[str, Any]) -> None:
        """httpx calls it before and after each step of the request."""
        self._current.update(self._timeouts())
        if event == "connection.connect_tcp.started":
            self._is_kept = False

    async def atrace(self, event: str, info: dict[str, Any]) -> None:
        self.trace(event, info)

    @contextlib.contextmanager
    def until_the_answer_begins(self) -> Iterator[None]:
        """Raises KeptConnectionLost if the server closed the connection while it was idle.

        It looks alike when the server failed with this request. A timeout is no sign of it.
        """
        try:
            yield
        except FAILURES as error:
            if self._is_kept and not isinstance(error, TIMEOUTS):
                raise KeptConnectionLost from error
            raise

    def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > ANSWER_MAX:
            raise UnexpectedAnswerError(f"an answer of over {ANSWER_MAX} bytes")
        self._chunks.append(chunk)

    def response(self, head: httpx.Response) -> Response:
        return Response(head.status_code, head.headers, b"".join(self._chunks))


@contextlib.contextmanager
def network_errors(call: Call[Any]) -> Iterator[None]:
    """Turns the errors of httpx and of the system into NetworkErrors."""
    try:
        yield
    except (*FAILURES, asyncio.TimeoutError) as error:
        reason = _reason_of(error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise CertificateError(f"{call}: {reason.verify_message}") from reason
        raise NetworkError(f"{call}: {str(reason) or type(reason).__name__}") from reason


def _reason_of(error: BaseException) -> BaseException:
    """The first error of the chain. httpcore has a cause as its argument, and not always as its cause."""
    while True:
        causes = (error.__cause__, *error.args)
        inner = next((one for one in causes if isinstance(one, Exception)), None)
        if inner is None:
            return error
        error = inner
