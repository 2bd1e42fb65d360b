"""Every error Perdure raises on purpose, as one tree.

An error says what happened, names the field, value and limit where there is one, and tells the person what to do
next. `code` is stable and machine-readable: HTTP, MCP and `--json` print it; the command line turns it into an exit
code (2 for `InvalidInput` and `ConfigurationError`, 1 for the rest).
"""

from __future__ import annotations

import reprlib
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

_SHOWN_CHARS = 80
_BRIEF = reprlib.Repr()  # a list may hold itself, or be so deep and wide that its whole repr never ends
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = 2 * _SHOWN_CHARS


def shown(value: object) -> str:
    """A short printable form of a rejected value: at most 80 characters, control characters escaped."""
    if isinstance(value, str | bytes):
        value = value[:_SHOWN_CHARS]
    try:
        text = ascii(value) if isinstance(value, str) and not value.isprintable() else _BRIEF.repr(value)
    except Exception:  # too many digits, or an object that can't say what it is
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def without_words(error: BaseException) -> str:
    """Class, SQLSTATE and place of an error, for logs: its message may quote a memory, a row or a password."""
    text = type(error).__name__
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        text += f" (SQLSTATE {state})"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else text


class PerdureError(Exception):
    """Base of all errors raised on purpose."""

    code = "error"
    exit_status = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class InvalidInput(PerdureError):
    """A value was refused at the door; nothing was written (HTTP 422, exit status 2).

    Carries the `field`, a short form of the `value`, and the `limit` that it broke.
    """

    code = "invalid_input"
    exit_status = 2

    def __init__(self, field: str, value: object, limit: str, *, line: int | None = None) -> None:
        self.field = field
        self.value = shown(value)
        self.limit = limit
        self.line = line
        where = f"line {line}: " if line is not None else ""
        super().__init__(f"{where}{field} {self.value} is not accepted: {limit}.")

    def at_line(self, line: int) -> InvalidInput:
        """The same error, naming the line of the file it came from."""
        return InvalidInput.of(self.field, self.value, self.limit, line)

    @classmethod
    def of(cls, field: str, value: str, limit: str, line: int | None = None) -> InvalidInput:
        """One whose value is in its short form already."""
        made = cls.__new__(cls)
        made.field, made.value, made.limit, made.line = field, value, limit, line
        where = f"line {line}: " if line is not None else ""
        PerdureError.__init__(made, f"{where}{field} {value} is not accepted: {limit}.")
        return made

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Lets pydantic write one that stands in a report as an object of its four parts, and read it."""
        from pydantic_core import core_schema  # noqa: PLC0415 - not needed to raise one

        names = ("field", "value", "limit", "line")
        text, number = core_schema.str_schema(), core_schema.nullable_schema(core_schema.int_schema())
        parts = core_schema.typed_dict_schema(
            {name: core_schema.typed_dict_field(number if name == "line" else text) for name in names}
        )
        as_parts = core_schema.plain_serializer_function_ser_schema(
            lambda error: {name: getattr(error, name) for name in names}, return_schema=parts
        )
        read = core_schema.no_info_after_validator_function(
            lambda given: cls.of(given["field"], given["value"], given["limit"], given["line"]), parts
        )
        return core_schema.json_or_python_schema(
            read, core_schema.union_schema([core_schema.is_instance_schema(cls), read]), serialization=as_parts
        )


class NotFound(PerdureError):
    """The space, memory or operation does not exist, or is not visible to this caller."""

    code = "not_found"


class SpaceRefused(PerdureError):
    """This connection or key may not reach the space, which may be there or not (HTTP 403)."""

    code = "space_refused"


class Conflict(PerdureError):
    """The request contradicts stored state, such as an `operation_id` used before with other words."""

    code = "conflict"


class ScopeFull(PerdureError):
    """No more facts fit into this scope; nothing was written."""

    code = "limit_exceeded"


class PrivacyRestricted(PerdureError):
    """The person doesn't want this to be kept, or nobody can tell whether they do; nothing was written."""

    code = "privacy_restricted"


class ConfigurationError(PerdureError):
    """A setting, URL or data directory cannot be used as it is; the hint says what to change."""

    code = "configuration"
    exit_status = 2


class FamilyMismatch(ConfigurationError):
    """The space's memories were embedded by another model than the one now configured."""

    code = "family_mismatch"


class DatabaseUnavailable(PerdureError):
    """The database could not be reached or did not answer in time; repeating with the same operation_id is safe."""

    code = "database_unavailable"


class ServerStartFailed(DatabaseUnavailable):
    """The embedded PostgreSQL did not start; the message quotes the end of its log."""

    code = "server_start_failed"


class EmbeddingUnavailable(PerdureError):
    """The embedding endpoint or engine could not be reached in time: an outage, worth repeating."""

    code = "embedding_unavailable"


class EmbeddingFailed(PerdureError):
    """The embedder answered, but with something that is no usable vector; repeating will not help by itself."""

    code = "embedding_failed"


class ModelUnavailable(PerdureError):
    """A language model could not be reached, refused the key, or is resting after failures: the work waits."""

    code = "model_unavailable"


class ModelFailed(PerdureError):
    """A language model answered, but with nothing usable: truncated, empty, or not what was asked for.

    `answer` is what it said, for the person who looks into it; it never becomes a memory.
    """

    code = "model_failed"

    def __init__(self, message: str, *, answer: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.answer = answer


class SourceUnavailable(PerdureError):
    """A mailbox or calendar could not be reached or stopped answering: go on later from the last checkpoint."""

    code = "source_unavailable"
