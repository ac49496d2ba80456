"""Sends one request, over a connection that is kept for the next one."""

from __future__ import annotations

import http.client
import ssl
import threading
import time
import urllib.parse
from dataclasses import dataclass

from .connection import Connection
from .errors import CertificateError, NetworkError, UnexpectedAnswerError
from .version import VERSION

ANSWER_MAX = 64 << 20
IDLE_MAX = 8


@dataclass(frozen=True)
class Response:
    """An answer as it was received."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Transport:
    """Connections to one service. Any number of threads may use it."""

    def __init__(self, base_url: str, api_key: str, context: ssl.SSLContext | None) -> None:
        url = urllib.parse.urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError("base_url must be a URL such as https://example.com/api/v1")
        if url.username is not None or url.query or url.fragment:
            raise ValueError("base_url must have no user, no query and no fragment")
        # Checked here because the error of http.client would contain the refused key.
        if not api_key or not all("!" <= letter <= "~" for letter in api_key):
            raise ValueError("api_key must be printable ASCII without spaces")
        is_tls = url.scheme == "https"
        self._host, self._port = url.hostname, url.port or (443 if is_tls else 80)
        self._path = url.path.rstrip("/")
        self._context = (context or ssl.create_default_context()) if is_tls else None
        self._api_key = api_key
        self._lock = threading.Lock()
        self._idle: list[Connection] = []

    def __repr__(self) -> str:
        return f"Transport({self._host!r})"

    def send(self, method: str, path: str, body: bytes | None, timeout: float) -> Response:
        """One attempt. Raises NetworkError."""
        deadline = time.monotonic() + timeout
        headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self._api_key}",
            "User-Agent": f"conversations-client-python/{VERSION}",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            return self._send(method, self._path + path, body, headers, deadline)
        except ssl.SSLCertVerificationError as error:
            raise CertificateError(f"{method} {path}: {error.verify_message}") from error
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise NetworkError(f"{method} {path}: {reason}") from error

    def _send(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: dict[str, str],
        deadline: float,
    ) -> Response:
        kept = self._take()
        if kept is not None:
            try:
                return self._exchange(kept, method, target, body, headers, deadline)
            except ConnectionError:
                # The server closed it while it was idle, and most likely the others as well. This
                # does not count as an attempt: every request can be repeated.
                self.close()
        fresh = Connection(self._host, self._port, self._context, deadline)
        return self._exchange(fresh, method, target, body, headers, deadline)

    def _exchange(
        self,
        connection: Connection,
        method: str,
        target: str,
        body: bytes | None,
        headers: dict[str, str],
        deadline: float,
    ) -> Response:
        try:
            answer = Response(
                *connection.exchange(method, target, body, headers, deadline, ANSWER_MAX)
            )
            if len(answer.body) > ANSWER_MAX:
                raise UnexpectedAnswerError(f"{method} {target}: over {ANSWER_MAX} bytes")
        except BaseException:
            connection.close()
            raise
        self._keep(connection)
        return answer

    def _take(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: Connection) -> None:
        with self._lock:
            if connection.is_open and len(self._idle) < IDLE_MAX:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Closes the connections that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
