"""Turns JSON into the dataclasses of ``models``."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Union, get_args, get_origin, get_type_hints

from .errors import UnexpectedAnswerError


def decode(hint: Any, value: Any, where: str = "the answer") -> Any:
    """Returns ``value`` as the type ``hint``.

    Unknown members are left out. A missing member raises an UnexpectedAnswerError, and so does any
    other value in the place of an object or list.
    """
    if get_origin(hint) is Union:
        if value is None:
            return None
        hint = next(one for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is list:
        if not isinstance(value, list):
            raise UnexpectedAnswerError(f"{where} is not a list")
        (item,) = get_args(hint)
        return [decode(item, one, f"{where}[{i}]") for i, one in enumerate(value)]
    if dataclasses.is_dataclass(hint):
        return _decode_object(hint, value, where)
    return value


@functools.cache
def _fields_of(cls: type) -> list[tuple[str, Any, bool]]:
    """The name and type of each field, and whether it is required."""
    hints = get_type_hints(cls)
    return [
        (field.name, hints[field.name], field.default is dataclasses.MISSING)
        for field in dataclasses.fields(cls)
    ]


def _decode_object(cls: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise UnexpectedAnswerError(f"{where} is not an object")
    members = {}
    for name, hint, is_required in _fields_of(cls):
        if name in value:
            members[name] = decode(hint, value[name], f"{where}.{name}")
        elif is_required:
            raise UnexpectedAnswerError(f"{where} has no {name}")
    return cls(**members)
