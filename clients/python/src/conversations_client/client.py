"""The operations of the API."""

from __future__ import annotations

import json
import random
import re
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

from .decode import decode
from .errors import ApiError, UnexpectedAnswerError, error_class
from .models import (
    Answer,
    AuditLog,
    AuditLogList,
    Conversation,
    ConversationList,
    ErrorList,
    NextPage,
    Operation,
    Outcome,
    Ping,
    RateLimit,
)
from .pages import OnRestart, each
from .requests import (
    AttributeChanges,
    CreateConversation,
    From,
    Pagination,
    Query,
    SearchConversations,
    UpdateConversation,
)
from .retry import Clock, Retrier, RetryPolicy, retry_after_seconds
from .transport import Response, Transport

T = TypeVar("T")


class Client:
    """The API of one service, with one key.

    Make one client and keep it: it reuses its connections, and any number of threads may use it.

    Every method takes ``budget``, the seconds that all its attempts together may take, in place of
    the policy's. All raise an ApiError for a refusal and a NetworkError when no answer came.
    ``clock`` and ``jitter`` are for tests.
    """

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
        self._transport = Transport(base_url, api_key, ssl_context)
        self._retrier = Retrier(policy, clock, jitter)

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
        """Closes the connections that are kept. The client can still be used."""
        self._transport.close()

    # -- operations --------------------------------------------------------------------------------

    def ping(self, *, budget: float | None = None) -> Answer[Ping]:
        """Checks that the key works, and returns whose it is."""
        return self._call(Ping, "GET", "/ping", budget=budget)

    def create_conversation(
        self,
        external_id: str,
        from_: From,
        custom_attributes: AttributeChanges | None = None,
        *,
        budget: float | None = None,
    ) -> Answer[Conversation]:
        """Creates an empty conversation, once for each ``external_id``.

        Choose the id before the first call and keep it. ``replayed`` of the answer is True if the
        conversation existed already.
        """
        body: CreateConversation = {"external_id": external_id, "from": from_}
        if custom_attributes is not None:
            body["custom_attributes"] = custom_attributes
        return self._call(Conversation, "POST", "/conversations", body, budget=budget)

    def get_conversation(
        self, conversation_id: str, *, budget: float | None = None
    ) -> Answer[Conversation]:
        """Reads a conversation, by the id that the service gave it."""
        return self._call(Conversation, "GET", _path_of(conversation_id), budget=budget)

    def update_conversation(
        self,
        conversation_id: str,
        custom_attributes: AttributeChanges,
        *,
        budget: float | None = None,
    ) -> Answer[Conversation]:
        """Sets attributes and removes those that are None; the others stay as they are."""
        body: UpdateConversation = {"custom_attributes": custom_attributes}
        return self._call(Conversation, "PUT", _path_of(conversation_id), body, budget=budget)

    def search_conversations(
        self,
        query: Query,
        *,
        per_page: int | None = None,
        starting_after: str | None = None,
        budget: float | None = None,
    ) -> Answer[ConversationList]:
        """Returns one page of a contact's conversations; ``conversations()`` returns all of them."""
        pagination: Pagination = {"starting_after": starting_after}
        if per_page is not None:
            pagination["per_page"] = per_page
        body: SearchConversations = {"query": query, "pagination": pagination}
        return self._call(ConversationList, "POST", "/conversations/search", body, budget=budget)

    def list_audit_logs(
        self,
        *,
        per_page: int | None = None,
        starting_after: str | None = None,
        operation: Operation | None = None,
        outcome: Outcome | None = None,
        api_key_id: str | None = None,
        conversation_id: str | None = None,
        created_at_after: int | None = None,
        created_at_before: int | None = None,
        budget: float | None = None,
    ) -> Answer[AuditLogList]:
        """Returns one page of the audit log; ``audit_logs()`` returns all of it."""
        parameters = {
            "per_page": per_page,
            "starting_after": starting_after,
            "operation": operation,
            "outcome": outcome,
            "api_key_id": api_key_id,
            "conversation_id": conversation_id,
            "created_at_after": created_at_after,
            "created_at_before": created_at_before,
        }
        given = {name: value for name, value in parameters.items() if value is not None}
        path = "/audit" + ("?" + urllib.parse.urlencode(given) if given else "")
        return self._call(AuditLogList, "GET", path, budget=budget)

    # -- all pages ---------------------------------------------------------------------------------

    def conversations(
        self,
        query: Query,
        *,
        per_page: int | None = None,
        on_restart: OnRestart | None = None,
        budget: float | None = None,
    ) -> Iterator[Conversation]:
        """Iterates over all conversations that a search finds, newest first, each once.

        A cursor is valid for 7 days. After that an error (``invalid_cursor``) is raised. With
        ``on_restart``, that function is called with the error instead, and the search starts over.
        ``budget`` is for each page.
        """

        def fetch(cursor: str | None) -> tuple[Sequence[Conversation], str | None]:
            page = self.search_conversations(
                query, per_page=per_page, starting_after=cursor, budget=budget
            ).data
            return page.conversations, _cursor_of(page.pages.next)

        return each(fetch, on_restart)

    def audit_logs(
        self,
        *,
        per_page: int | None = None,
        operation: Operation | None = None,
        outcome: Outcome | None = None,
        api_key_id: str | None = None,
        conversation_id: str | None = None,
        created_at_after: int | None = None,
        created_at_before: int | None = None,
        on_restart: OnRestart | None = None,
        budget: float | None = None,
    ) -> Iterator[AuditLog]:
        """Iterates over all entries of the audit log, as ``conversations()`` does over a search."""

        def fetch(cursor: str | None) -> tuple[Sequence[AuditLog], str | None]:
            page = self.list_audit_logs(
                per_page=per_page,
                starting_after=cursor,
                operation=operation,
                outcome=outcome,
                api_key_id=api_key_id,
                conversation_id=conversation_id,
                created_at_after=created_at_after,
                created_at_before=created_at_before,
                budget=budget,
            ).data
            return page.audit_logs, _cursor_of(page.pages.next)

        return each(fetch, on_restart)

    # -- requests ----------------------------------------------------------------------------------

    def _call(
        self,
        answered: type[T],
        method: str,
        path: str,
        body: Any = None,
        *,
        budget: float | None,
    ) -> Answer[T]:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()

        def attempt(timeout: float) -> Response:
            response = self._transport.send(method, path, data, timeout)
            if not 200 <= response.status < 300:
                raise _error_of(response)
            return response

        what = f"{method} {path.partition('?')[0]}"
        response, attempts = self._retrier.run(what, attempt, budget)
        return Answer(
            data=decode(answered, _parse(response)),
            status=response.status,
            request_id=response.headers.get("X-Service-Request-Id"),
            rate_limit=_rate_limit_of(response),
            replayed=response.headers.get("X-Service-Idempotent-Replay") == "true",
            attempts=attempts,
        )


def _path_of(conversation_id: str) -> str:
    return "/conversations/" + urllib.parse.quote(conversation_id, safe="")


def _cursor_of(following: NextPage | None) -> str | None:
    return None if following is None else following.starting_after


def _parse(response: Response) -> Any:
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise UnexpectedAnswerError(f"{response.status}: the body is not JSON") from error


def _rate_limit_of(response: Response) -> RateLimit | None:
    names = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
    texts = [response.headers.get(name, "") for name in names]
    if not all(re.fullmatch("[0-9]{1,18}", text) for text in texts):
        return None
    return RateLimit(*map(int, texts))


def _error_of(response: Response) -> ApiError:
    """The error that an answer describes; it has no code when a proxy made the answer."""
    try:
        errors = tuple(decode(ErrorList, _parse(response)).errors)
    except UnexpectedAnswerError:
        errors = ()
    return error_class(response.status)(
        response.status,
        errors,
        response.headers.get("X-Service-Request-Id"),
        _rate_limit_of(response),
        retry_after_seconds(response.headers.get("Retry-After"), time.time()),
    )
