"""When a request is retried, and after how long: the policy of docs/api.md."""

from __future__ import annotations

import email.utils
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import ApiError, ConversationsError

if TYPE_CHECKING:
    from .call import Call

log = logging.getLogger("conversations_client")


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


class Attempts:
    """The attempts of one call. Give the error of each to ``wait_after()``."""

    def __init__(
        self,
        call: Call[Any],
        policy: RetryPolicy,
        monotonic: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        """``jitter`` returns a number from 0 to 1."""
        self.number = 1
        self._call = call
        self._policy = policy
        self._monotonic = monotonic
        self._jitter = jitter
        self._deadline = monotonic() + (policy.budget if call.budget is None else call.budget)

    def timeout(self) -> float:
        """The seconds that this attempt may take."""
        return min(self._policy.timeout, max(self._deadline - self._monotonic(), 0.001))

    def wait_after(self, error: ConversationsError) -> float:
        """The seconds to wait before the next attempt. If there is none, raises the error."""
        error.attempts = self.number
        asked = error.retry_after if isinstance(error, ApiError) else 0.0
        limit = min(self._policy.backoff * 2.0 ** (self.number - 1), self._policy.backoff_max)
        wait = asked + limit * self._jitter()
        if not error.is_temporary or self.number > self._policy.retries:
            raise error
        if self._monotonic() + wait >= self._deadline:
            raise error
        log.info("%s: %s; attempt %d, next in %.1f s", self._call, error, self.number, wait)
        self.number += 1
        return wait


def retry_after_seconds(retry_after: str | None, now: float) -> float:
    """The seconds that a Retry-After header asks to wait, from ``now`` in Unix seconds.

    The header holds seconds or a date. The result is 0 when it is absent, in the past, or neither.
    """
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        # A date without a zone, as in one of the forms that HTTP allows, is in UTC for this function.
        date = email.utils.parsedate_tz(text)
        return 0.0 if date is None else max(email.utils.mktime_tz(date) - now, 0.0)
    except (ValueError, OverflowError, IndexError):
        return 0.0
