"""Values of the library as JSON, and back: by their types, so that there is no second description of them.

Ids are texts, times ISO 8601 in UTC, names those of the library. What a value only computes isn't written.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from perdure.errors import InvalidInput


@cache
def adapter(type_: Any) -> TypeAdapter[Any]:
    """What reads and writes values of a type."""
    return TypeAdapter(type_)


def to_wire(type_: Any, value: object) -> Any:
    """A value as JSON knows it: objects, lists, texts, numbers, true, false, null."""
    return adapter(type_).dump_python(value, mode="json")


def from_wire(type_: Any, data: object, field: str = "body") -> Any:
    """A value from its JSON form. Raises InvalidInput, which names the field that doesn't fit."""
    if get_origin(type_) is Iterable:
        # Of an Iterable the items would be looked at one by one, when it is too late to refuse them.
        (item,) = get_args(type_)
        type_ = tuple.__class_getitem__((item, ...))
    try:
        return adapter(type_).validate_python(data)
    except ValidationError as error:
        raise refusal(error, field) from None


def refusal(error: ValidationError, field: str) -> InvalidInput:
    """The first thing that doesn't fit, as an error of ours."""
    first = error.errors(include_url=False, include_context=False)[0]
    inner = ".".join(str(step) for step in first["loc"] if not _of_a_union(step))
    message = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    limit = message if message != first["msg"] else message[:1].lower() + message[1:]
    named = f"{field}.{inner}" if inner else field
    return InvalidInput(named, first["input"], f"it has to be {limit}" if limit == message else limit)


def _of_a_union(step: object) -> bool:
    """Whether a step of a path names a member of a union, which whoever wrote the JSON knows nothing of."""
    return isinstance(step, str) and not step.isidentifier()
