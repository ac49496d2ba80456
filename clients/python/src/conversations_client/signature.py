"""Methods whose names, arguments and documentation are those of a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def as_method(function: Callable[..., Any]) -> Callable[[Method], Method]:
    """Makes a method that passes its arguments on look like ``function``, with ``self`` before them."""

    def decorate(method: Method) -> Method:
        functools.update_wrapper(method, function)
        told = inspect.signature(function)
        itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [itself, *told.parameters.values()]
        result = inspect.signature(method, follow_wrapped=False).return_annotation
        method.__signature__ = told.replace(parameters=parameters, return_annotation=result)  # type: ignore[attr-defined]
        return method

    return decorate
