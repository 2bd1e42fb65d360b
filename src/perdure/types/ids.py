"""Ids of rows: numbers in the library, texts in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


class _AsText:
    """Lets pydantic write an id as text in JSON, where numbers of more than 53 bits lose digits; it reads both."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - not needed to use the types

        as_text = core_schema.plain_serializer_function_ser_schema(
            str, return_schema=core_schema.str_schema(pattern="^[0-9]+$"), when_used="json"
        )
        return core_schema.int_schema(ge=1, serialization=as_text)


Id = Annotated[int, _AsText()]
"""The number of a row within its space; text in JSON."""
