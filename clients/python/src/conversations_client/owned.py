"""Connections that only their owner uses.

After a fork, the parent and the child have the same sockets, and each would read the other's answers.
An event loop cannot use the connections of another one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Transport = TypeVar("Transport")


@dataclass(frozen=True)
class Owner:
    """A process, or an event loop in it."""

    process: int
    loop: asyncio.AbstractEventLoop | None = None

    def is_gone(self) -> bool:
        is_closed = self.loop is not None and self.loop.is_closed()
        return is_closed or self.process != os.getpid()


class Owned(Generic[Transport]):
    """A transport for each owner, opened when it is first needed.

    It has no lock, since a fork could leave that locked forever: single operations of a dictionary
    are atomic.
    """

    def __init__(self, open_one: Callable[[], Transport]) -> None:
        self._open = open_one
        self._transports: dict[Owner, Transport | None] = {}  # None: the owner has closed it

    def of(self, owner: Owner) -> Transport:
        if owner not in self._transports:
            # They are not closed: that would be a use. What is left of them goes with the last reference.
            for other in list(self._transports):
                if other.is_gone():
                    self._transports.pop(other, None)
            self._transports.setdefault(owner, self._open())
        found = self._transports[owner]
        if found is None:
            raise RuntimeError("the client has been closed")
        return found

    def close(self, owner: Owner) -> Transport | None:
        """What the caller has to close. From now on the owner gets none."""
        found = self._transports.get(owner)
        self._transports[owner] = None
        return found
