"""One call of the API: the request to send, and what its answer must be. Nothing here sends."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .decode import decode
from .errors import ApiError, UnexpectedAnswerError, error_class
from .models import Answer, ErrorList, RateLimit
from .retry import retry_after_seconds

T = TypeVar("T")


@dataclass(frozen=True)
class Response:
    """An answer as it was received. The names of ``headers`` are not case-sensitive."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and the type ``answered`` that a success has.

    ``about`` is a member of the answer and the value that it must have: whose answer it is.
    """

    answered: type[T]
    method: str
    path: str
    body: bytes | None = None
    about: tuple[str, str] | None = None
    budget: float | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"

    def answer(self, response: Response, attempts: int) -> Answer[T]:
        """Raises an ApiError for a refusal, and an UnexpectedAnswerError."""
        if not 200 <= response.status < 300:
            raise _error_of(response)
        data = decode(self.answered, _parse(response))
        if self.about is not None:
            member, wanted = self.about
            if getattr(data, member) != wanted:
                raise UnexpectedAnswerError(f"{self}: the answer is about another {member}")
        return Answer(
            data=data,
            status=response.status,
            request_id=response.headers.get("X-Service-Request-Id"),
            rate_limit=_rate_limit_of(response),
            replayed=response.headers.get("X-Service-Idempotent-Replay") == "true",
            attempts=attempts,
        )


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
