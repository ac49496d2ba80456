"""Iterates over all pages of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from .errors import ApiError, UnexpectedAnswerError


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=_HasId)
OnRestart = Callable[[ApiError], None]


def each(
    fetch: Callable[[str | None], tuple[Sequence[Item], str | None]],
    on_restart: OnRestart | None,
) -> Iterator[Item]:
    """Yields every item once.

    ``fetch`` takes a cursor; it returns the items of that page and the cursor of the next one. A page
    that names itself as the next one raises an UnexpectedAnswerError.

    When a cursor is no longer valid, its error is raised. With ``on_restart``, that function is called
    with the error instead, and the list starts over without the items that were already yielded. This
    keeps the ids of all of them in memory; without ``on_restart``, only those of the previous page are
    kept. If the list yields nothing new before the next such error, the error is raised.
    """
    seen: set[str] = set()
    cursor: str | None = None
    found_new = True
    while True:
        try:
            items, following = fetch(cursor)
        except ApiError as error:
            is_expired = error.code == "invalid_cursor" and cursor is not None
            if not is_expired or on_restart is None or not found_new:
                raise
            on_restart(error)
            cursor, found_new = None, False
            continue
        for item in items:
            if item.id not in seen:
                seen.add(item.id)
                found_new = True
                yield item
        if following is None:
            return
        if following == cursor:
            raise UnexpectedAnswerError("a page names itself as the next one")
        if on_restart is None:
            seen = {item.id for item in items}
        cursor = following
