"""Which page of a list comes next, and which of its items are new. Nothing here sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Optional, Protocol, TypeVar

from .call import Call
from .errors import ApiError, UnexpectedAnswerError


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=_HasId)
Body = TypeVar("Body")
OnRestart = Callable[[ApiError], None]
Page = tuple[Sequence[Item], Optional[str]]
"""The items of a page, and the cursor of the next one."""


class Pages(Generic[Item, Body]):
    """A list while it is read: make ``call()`` until it is None, and give each answer to ``take()``.

    A page that names itself as the next one raises an UnexpectedAnswerError.

    When a cursor is no longer valid, its error is raised. With ``on_restart``, that function is called
    with the error instead, and the list starts over without the items that were already taken. This
    keeps the ids of all of them in memory; without ``on_restart``, only those of the previous page are
    kept. If the list has nothing new before the next such error, the error is raised.
    """

    def __init__(
        self,
        call: Callable[[str | None], Call[Body]],
        read: Callable[[Body], Page[Item]],
        on_restart: OnRestart | None,
    ) -> None:
        self._call = call
        self._read = read
        self._on_restart = on_restart
        self._cursor: str | None = None
        self._following: str | None = None
        self._is_begun = False
        self._seen: set[str] = set()
        self._found_new = True

    def call(self) -> Call[Body] | None:
        """The call for the next page; None after the last one."""
        if self._following is not None and self._following == self._cursor:
            raise UnexpectedAnswerError("a page names itself as the next one")
        if self._is_begun and self._following is None:
            return None
        self._cursor = self._following
        return self._call(self._cursor)

    def take(self, body: Body) -> list[Item]:
        """The items of this page that are new."""
        items, self._following = self._read(body)
        self._is_begun = True
        new = []
        for item in items:
            if item.id not in self._seen:
                self._seen.add(item.id)
                new.append(item)
        if new:
            self._found_new = True
        if self._on_restart is None:
            self._seen = {item.id for item in items}
        return new

    def restart(self, error: ApiError) -> None:
        """Starts over after the error of a call. If it may not, raises the error."""
        is_expired = error.code == "invalid_cursor" and self._cursor is not None
        if not is_expired or self._on_restart is None or not self._found_new:
            raise error
        self._on_restart(error)
        self._cursor, self._following = None, None
        self._is_begun, self._found_new = False, False
