"""From what a model wrote to a value: found in whatever stands around it, and validated by the one schema."""

from __future__ import annotations

import json
import re
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)

_TRIES: Final = 64
_COMPLAINTS: Final = 8
_FENCE: Final = re.compile(r"\A```[a-zA-Z]*\s*|\s*```\Z")


class Unfit(Exception):
    """No value of the schema in the answer. `complaint` says what is wrong, for the model and for people."""

    def __init__(self, complaint: str) -> None:
        super().__init__(complaint)
        self.complaint = complaint


def read_answer(text: str, schema: type[M]) -> M:
    """The value in `text`: all of it, or the last JSON object in it that fits. Raises Unfit."""
    text = _FENCE.sub("", text.strip())
    complaint = "There is no JSON object in it."
    for candidate in [text, *_objects(text)] if text.startswith("{") else _objects(text):
        try:
            return schema.model_validate_json(candidate)
        except ValidationError as error:
            complaint = _told(error)
    raise Unfit(complaint)


def repair_request(complaint: str) -> str:
    """What the model is told after an answer that doesn't fit."""
    return (
        f"That answer can't be used. {complaint}\n"
        "Answer again with the corrected JSON object and nothing else, of the form you were given."
    )


def _objects(text: str) -> list[str]:
    """The outermost JSON objects in `text`, last first."""
    decoder = json.JSONDecoder()
    found: list[str] = []
    start = text.find("{")
    for _ in range(_TRIES):
        if start < 0:
            break
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # no object begins here
            end = start + 1
        else:
            found.append(text[start:end])
        start = text.find("{", end)
    return found[::-1]


def _told(error: ValidationError) -> str:
    """The first few faults, each with its place; without the values, which the model has before it."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, fault['loc'])) or 'the answer'}: {fault['msg']}" for fault in faults[:_COMPLAINTS]]
    return "; ".join(lines) + "."
