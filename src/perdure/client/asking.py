"""A verb as an HTTP request, and the answer as what the verb returns; without a word on how it is sent."""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
from pydantic_core import to_jsonable_python

from perdure import door, errors
from perdure.client.contexts import RemoteContext, remote_context
from perdure.context import Context
from perdure.errors import DatabaseUnavailable, InvalidInput, PerdureError
from perdure.fact_types import FactId
from perdure.types import Hit, PageEnd, Recall, SearchResult, StoredMemory
from perdure.wire import (
    PAGE_ENDS,
    ROUTES,
    IdentityCard,
    Prompt,
    Route,
    Scope,
    cursor_of,
    from_wire,
    signature_of,
    to_wire,
    written,
)

BY_VERB: Final = {route.verb: route for route in ROUTES}
TRIES: Final = 3
"""How often a request is sent that may be sent again."""
PAUSE_S: Final = 0.2
WAITS_S: Final = 60.0
"""For the answer of a verb that names no time of its own."""
BESIDE_S: Final = 5.0
"""For the way there and back, besides the time that a verb names."""
_CLASSES: Final = {
    each.code: each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, PerdureError) and each is not InvalidInput
}


class ServerUnavailable(DatabaseUnavailable):
    """The server could not be reached, or did not answer in time; nothing is known of what it did."""

    code = "server_unavailable"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that is ready to be sent.

    Attributes:
        again: whether it may be sent again: it changes nothing, or it is known by its operation id.
        timeout_s: how long to wait for the answer.
    """

    verb: str
    method: str
    path: str
    query: Mapping[str, Any]
    json: Mapping[str, Any] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = False
    timeout_s: float = WAITS_S


def ask(verb: str, space: str, audience: str | None, values: Mapping[str, Any]) -> Asked:
    """The request for a verb with these arguments.

    Raises:
        InvalidInput: a file can't be read.
    """
    route = BY_VERB[verb]
    fields = {_called(verb, name): _sent(verb, name, value) for name, value in values.items() if value is not None}
    if isinstance(values.get("source"), Path) and verb == "add_document":
        fields.setdefault("name", values["source"].name)
    path = f"/v1/spaces/{quote(space, safe='')}{_filled(route, fields)}"
    query: dict[str, Any] = {} if audience is None else {"audience": audience}
    timeout_s = _seconds(values)
    if route.method in {"GET", "DELETE"}:
        return Asked(verb, route.method, path, query | _queried(fields), again=True, timeout_s=timeout_s)
    if isinstance(fields.get("source"), bytes):
        content = fields.pop("source")
        headers = {"content-type": fields.pop("media_type", None) or "application/octet-stream"}
        return Asked(verb, route.method, path, query | _queried(fields), None, content, headers, timeout_s=timeout_s)
    if "source" in fields and verb in {"add_document", "replace_document"}:
        fields["text"] = fields.pop("source")
    if any(each.name == "operation_id" for each in signature_of(verb).parameters):
        # Known by an id of ours, it can be sent again when nobody answers.
        fields.setdefault("operation_id", str(uuid.uuid4()))
    again = route.scope is Scope.READ or route.method == "PUT" or "operation_id" in fields
    return Asked(verb, route.method, path, query, fields, again=again, timeout_s=timeout_s)


def read_answer(asked: Asked, answer: httpx.Response) -> Any:
    """What the verb returns. Raises what it would have raised in this process."""
    if answer.is_error:
        raise _error(answer)
    returns = signature_of(asked.verb).returns
    if answer.status_code == httpx.codes.NO_CONTENT:
        return None
    data = answer.json()
    if returns is Context:
        return remote_context(from_wire(Prompt, data))
    if asked.verb == "identity":
        return from_wire(IdentityCard, data)
    if returns is int:
        return data["count"]
    return from_wire(returns, data["items"] if BY_VERB[asked.verb].paged else data)


def next_page(answer: httpx.Response) -> str | None:
    """Where the next page begins; None at the end."""
    following: str | None = answer.json()["next"]
    return following


def instead(asked: Asked, values: Mapping[str, Any]) -> Any:
    """What a turn gets when the server is away: nothing remembered, and told so. None for other verbs."""
    query = str(values.get("message", ""))
    nothing = Recall(query, (), (), "", "", ("server",), {})
    if asked.verb == "recall":
        return nothing
    if asked.verb in {"context", "inspect_context"}:
        return RemoteContext.nothing(nothing)
    return None


def _called(verb: str, name: str) -> str:
    return "ids" if (verb, name) == ("feedback", "retrieved") else name


def _sent(verb: str, name: str, value: Any) -> Any:
    """An argument as JSON knows it."""
    if (verb, name) == ("capture", "recall"):
        if isinstance(value, RemoteContext):
            return {"context_id": value.context_id, "ids": list(map(str, value.recall.ids)) if value.real else []}
        return _ids(value)
    if (verb, name) == ("feedback", "retrieved"):
        return _ids(value)
    if name in PAGE_ENDS:
        return _cursor(name, value)
    if name == "source" and isinstance(value, Path):
        try:
            return value.read_bytes()
        except OSError as error:
            raise InvalidInput("source", str(value), f"it can't be read ({error.strerror})") from None
    return value if isinstance(value, bytes) else _plain(value)


def _cursor(name: str, value: Any) -> str:
    """The last one of a page as the cursor of the next: a memory, or the id of what goes by id."""
    return cursor_of(value) if isinstance(value, StoredMemory | PageEnd) else written([door.require_id(value, name)])


def _ids(value: Any) -> list[str]:
    if isinstance(value, Context):
        value = value.recall if value.real else ()
    if isinstance(value, Recall | SearchResult):
        hits: tuple[Hit, ...] = value.memories if isinstance(value, Recall) else value.hits
        value = [hit.memory.id for hit in hits]
    return [str(each) for each in value]


def _plain(value: Any) -> Any:
    if isinstance(value, FactId):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return to_wire(type(value), value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return to_jsonable_python(value)


def _filled(route: Route, fields: dict[str, Any]) -> str:
    """The path with its names put in, which are taken out of the fields."""
    parts = [
        quote(str(fields.pop(part[1:-1])), safe="") if part.startswith("{") else part for part in route.path.split("/")
    ]
    return "/".join(parts)


def _queried(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as a query holds them: JSON for what has names and values, `true` and `false`, and texts."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        called = "cursor" if name in PAGE_ENDS else name
        if isinstance(value, Mapping):
            found[called] = json.dumps(value)
        elif isinstance(value, bool):
            found[called] = str(value).lower()
        else:
            found[called] = value
    return found


def _seconds(values: Mapping[str, Any]) -> float:
    for name in ("deadline_s", "timeout_s"):
        named = values.get(name)
        if isinstance(named, int | float):
            return float(named) + BESIDE_S
    return WAITS_S


def _error(answer: httpx.Response) -> PerdureError:
    try:
        told = answer.json()
        code, detail, hint = told["code"], told["detail"], told.get("hint")
    except (ValueError, KeyError, TypeError):
        return ServerUnavailable(
            f"The server answered {answer.status_code}, and not as Perdure does.", hint="Is this its address?"
        )
    if code == InvalidInput.code and "field" in told:
        return InvalidInput.of(told["field"], told["value"], told["limit"])
    found = _CLASSES.get(code)
    if found is not None:
        return found(detail, hint=hint)
    if code == "stopping":
        return ServerUnavailable(detail, hint=hint)
    error = PerdureError(detail, hint=hint)
    error.code = code
    return error
