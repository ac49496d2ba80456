"""When a request is retried, and after how long: the policy of docs/api.md."""

from __future__ import annotations

import email.utils
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from .errors import ApiError, ConversationsError

T = TypeVar("T")
log = logging.getLogger("conversations_client")


class Clock(Protocol):
    """The part of the module ``time`` that is used here."""

    def monotonic(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


@dataclass(frozen=True)
class RetryPolicy:
    """How often to retry, and for how long. All times are in seconds.

    Every operation can be repeated, creates included, as they carry their ``external_id``. A failure
    of the service or the network and a 429 are retried up to ``retries`` times; any other refusal is
    final. Before each retry comes the time that ``Retry-After`` asks for, then a random wait of at
    most ``backoff``, twice that, four times that, and so on up to ``backoff_max``.

    ``timeout`` bounds one attempt, from the connection to the last byte of the answer. It does not
    include the lookup of the host's name, which only the system's resolver bounds. ``budget`` bounds
    all attempts and the waits between them: when a wait would exceed it, the last error is raised at
    once. Choose one below your own deadline, such as 5 seconds inside a web request.
    """

    retries: int = 5
    timeout: float = 30.0
    budget: float = 300.0
    backoff: float = 1.0
    backoff_max: float = 30.0


class Retrier:
    """Retries by a policy. ``jitter`` returns a number from 0 to 1."""

    def __init__(
        self,
        policy: RetryPolicy,
        clock: Clock = time,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._jitter = jitter

    def run(self, what: str, attempt: Callable[[float], T], budget: float | None) -> tuple[T, int]:
        """Returns what ``attempt`` returns, and the number of attempts.

        ``attempt`` is called with its timeout in seconds. ``what`` is for the log.
        """
        policy = self._policy
        deadline = self._clock.monotonic() + (policy.budget if budget is None else budget)
        number = 1
        while True:
            try:
                left = deadline - self._clock.monotonic()
                return attempt(min(policy.timeout, max(left, 0.001))), number
            except ConversationsError as error:
                error.attempts = number
                wait = self._wait_after(error, number)
                if not error.is_temporary or number > policy.retries:
                    raise
                if self._clock.monotonic() + wait >= deadline:
                    raise
                log.info("%s: %s; attempt %d, next in %.1f s", what, error, number, wait)
            self._clock.sleep(wait)
            number += 1

    def _wait_after(self, error: ConversationsError, number: int) -> float:
        asked = error.retry_after if isinstance(error, ApiError) else 0.0
        limit = min(self._policy.backoff * 2.0 ** (number - 1), self._policy.backoff_max)
        return asked + limit * self._jitter()


def retry_after_seconds(retry_after: str | None, now: float) -> float:
    """The seconds that a Retry-After header asks to wait, from ``now`` in Unix seconds.

    The header holds seconds or a date. The result is 0 when it is absent, in the past, or neither.
    """
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(email.utils.parsedate_to_datetime(text).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return 0.0
