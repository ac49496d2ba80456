"""The client for asyncio."""

from __future__ import annotations

import asyncio
import os
import random
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import httpx

from . import operations
from .call import Call
from .errors import ApiError, ConversationsError, UnexpectedAnswerError
from .exchange import LIMITS, Exchange, KeptConnectionLost, Service, network_errors
from .models import Answer
from .owned import Owned, Owner
from .pages import Item, Pages
from .retry import Attempts, RetryPolicy
from .signature import as_method

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
T = TypeVar("T")

# The timeouts of httpx bound single operations. A server that sends a byte now and then exceeds them, and
# its attempt is cancelled after this time more. Cancelled later than they end, since older versions of
# httpx may lose a connection by it.
GRACE_S = 0.2


class AsyncClock(Protocol):
    """As the Clock of the client for threads."""

    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float, /) -> None: ...


class _SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float, /) -> None:
        await asyncio.sleep(seconds)


def _operation(
    build: Callable[P, Call[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, Answer[T]]]:
    """The method that makes the call of an operation."""

    @as_method(build)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Answer[T]:
        return await self._make(build(*args, **kwargs))

    return method


def _list(
    build: Callable[P, Pages[Item, Any]],
) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[Item]]:
    """The method that iterates over a list."""

    @as_method(build)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Item]:
        pages = build(*args, **kwargs)
        while (call := pages.call()) is not None:
            try:
                answer = await self._make(call)
            except ApiError as error:
                pages.restart(error)
            else:
                for item in pages.take(answer.data):
                    yield item

    return method


class AsyncClient:
    """The API of one service, with one key, for asyncio.

    It has the methods of Client, as coroutines and asynchronous iterators. Make one client and keep
    it. Any number of tasks may use it, and several event loops: each has its own connections.
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
        clock: AsyncClock = _SystemClock(),
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._base_url = base_url
        self._service = Service(base_url, api_key, ssl_context)
        self._policy = policy
        self._clock = clock
        self._jitter = jitter
        self._transports = Owned(self._open)

    def __repr__(self) -> str:
        return f"AsyncClient({self._base_url!r})"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections of this event loop. From then on, calls in it raise a RuntimeError.

        So do those that other tasks make meanwhile, unless they end without a retry.
        """
        transport = self._transports.close(_this_loop())
        if transport is not None:
            await transport.aclose()

    # -- requests ----------------------------------------------------------------------------------

    def _open(self) -> httpx.AsyncHTTPTransport:
        verify = self._service.context or False
        return httpx.AsyncHTTPTransport(verify=verify, trust_env=False, limits=LIMITS)

    async def _make(self, call: Call[T]) -> Answer[T]:
        attempts = Attempts(call, self._policy, self._clock.monotonic, self._jitter)
        while True:
            try:
                timeout = attempts.timeout()
                attempt = self._attempt(call, attempts.number, time.monotonic() + timeout)
                with network_errors(call):
                    return await asyncio.wait_for(attempt, timeout + GRACE_S)
            except ConversationsError as error:
                wait = attempts.wait_after(error)
            await self._clock.sleep(wait)

    async def _attempt(self, call: Call[T], number: int, deadline: float) -> Answer[T]:
        try:
            kept = self._transports.of(_this_loop())
            return await self._exchange(kept, call, number, deadline)
        except KeptConnectionLost:
            pass
        # As in the client for threads.
        async with self._open() as fresh:
            return await self._exchange(fresh, call, number, deadline)

    async def _exchange(
        self, transport: httpx.AsyncHTTPTransport, call: Call[T], number: int, deadline: float
    ) -> Answer[T]:
        exchange = Exchange(lambda: _until(deadline))
        with exchange.until_the_answer_begins():
            request = self._service.request(call, exchange.extensions(exchange.atrace))
            head = await transport.handle_async_request(request)
        try:
            assert isinstance(head.stream, httpx.AsyncByteStream)
            async for chunk in head.stream:
                exchange.add(chunk)
            return call.answer(exchange.response(head), number)
        except UnexpectedAnswerError:
            await head.extensions["network_stream"].aclose()
            raise
        finally:
            await head.aclose()


def _until(deadline: float) -> dict[str, float]:
    """The timeouts of a request for its next step."""
    return dict.fromkeys(("connect", "write", "read", "pool"), max(deadline - time.monotonic(), 0.001))


def _this_loop() -> Owner:
    return Owner(os.getpid(), asyncio.get_running_loop())
