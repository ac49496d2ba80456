"""The client for threads."""

from __future__ import annotations

import os
import random
import ssl
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import httpx

from . import operations
from .call import Call
from .deadline import Transport, until
from .errors import ApiError, ConversationsError, UnexpectedAnswerError
from .exchange import Exchange, KeptConnectionLost, Service, network_errors
from .models import Answer
from .owned import Owned, Owner
from .pages import Item, Pages
from .retry import Attempts, RetryPolicy
from .signature import as_method

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
T = TypeVar("T")


class Clock(Protocol):
    """The part of the module ``time`` that is used here."""

    def monotonic(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


def _operation(build: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], Answer[T]]:
    """The method that makes the call of an operation."""

    @as_method(build)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Answer[T]:
        return self._make(build(*args, **kwargs))

    return method


def _list(
    build: Callable[P, Pages[Item, Any]],
) -> Callable[Concatenate[Client, P], Iterator[Item]]:
    """The method that iterates over a list."""

    @as_method(build)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Item]:
        pages = build(*args, **kwargs)
        while (call := pages.call()) is not None:
            try:
                answer = self._make(call)
            except ApiError as error:
                pages.restart(error)
            else:
                yield from pages.take(answer.data)

    return method


class Client:
    """The API of one service, with one key.

    Make one client and keep it: it reuses its connections. Any number of threads may use it, and
    processes that are forked later too: each has its own connections.

    Every method takes ``budget``, the seconds that all its attempts together may take, in place of
    the policy's. All raise an ApiError for a refusal and a NetworkError when no answer came.
    ``clock`` and ``jitter`` are for tests.
    """

    ping = _operation(operations.ping)
    create_conversation = _operation(operations.create_conversation)
    get_conversation = _operation(operations.get_conversation)
    update_conversation = _operation(operations.update_conversation)
    search_conversations = _operation(operations.search_conversations)
    list_audit_logs = _operation(operations.list_audit_logs)
    conversations = _list(operations.conversations)
    audit_logs = _list(operations.audit_logs)

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        policy: RetryPolicy = RetryPolicy(),
        ssl_context: ssl.SSLContext | None = None,
        clock: Clock = time,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._base_url = base_url
        self._service = Service(base_url, api_key, ssl_context)
        self._policy = policy
        self._clock = clock
        self._jitter = jitter
        self._transports = Owned(self._open)

    def __repr__(self) -> str:
        return f"Client({self._base_url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. From then on, calls raise a RuntimeError.

        So do those that other threads make meanwhile, unless they end without a retry.
        """
        transport = self._transports.close(Owner(os.getpid()))
        if transport is not None:
            transport.close()

    # -- requests ----------------------------------------------------------------------------------

    def _open(self) -> Transport:
        return Transport(self._service.context)

    def _make(self, call: Call[T]) -> Answer[T]:
        attempts = Attempts(call, self._policy, self._clock.monotonic, self._jitter)
        while True:
            try:
                return self._attempt(call, attempts)
            except ConversationsError as error:
                wait = attempts.wait_after(error)
            self._clock.sleep(wait)

    def _attempt(self, call: Call[T], attempts: Attempts) -> Answer[T]:
        deadline = time.monotonic() + attempts.timeout()
        with network_errors(call):
            try:
                kept = self._transports.of(Owner(os.getpid()))
                return self._exchange(kept, call, attempts.number, deadline)
            except KeptConnectionLost:
                pass
            # This does not count as an attempt: every request can be repeated. The other connections
            # may be lost as well.
            with self._open() as fresh:
                return self._exchange(fresh, call, attempts.number, deadline)

    def _exchange(
        self, transport: Transport, call: Call[T], number: int, deadline: float
    ) -> Answer[T]:
        exchange = Exchange(lambda: until(deadline))
        with exchange.until_the_answer_begins():
            request = self._service.request(call, exchange.extensions(exchange.trace))
            head = transport.handle_request(request)
        try:
            assert isinstance(head.stream, httpx.SyncByteStream)
            for chunk in head.stream:
                exchange.add(chunk)
            return call.answer(exchange.response(head), number)
        except UnexpectedAnswerError:
            # It may be the answer to another request: what comes next here would be wrong as well.
            head.extensions["network_stream"].close()
            raise
        finally:
            head.close()
