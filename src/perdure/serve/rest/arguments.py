"""A request's arguments as the library takes them. Nothing is judged here that the library's own door judges."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

from fastapi import Request
from pydantic import ValidationError

from perdure import door
from perdure.errors import InvalidInput
from perdure.serve.paths import name_in_path
from perdure.types import PageEnd
from perdure.wire import PAGE_ENDS, VARIADIC, Parameter, Route, adapter, from_wire, read_cursor, refusal, signature_of

OPERATION_HEADER: Final = "idempotency-key"
AUDIENCE: Final = "audience"
CURSOR: Final = "cursor"
LIMIT: Final = Parameter("limit", int, None)
"""Of a page, also of a list that the library hands out whole."""
_SHOWN: Final = {("capture", "recall"), ("feedback", "retrieved")}
_ANY_FILE: Final = (None, "application/octet-stream", "application/x-www-form-urlencoded")
"""Media types that say nothing of a file: what curl and others send by themselves."""
_NOT_QUERIED: Final = PAGE_ENDS | {"source"}
_FREE: Final = (str, Mapping, dict, object)


async def read_arguments(route: Route, request: Request) -> dict[str, Any]:
    """All arguments of a verb by name, from the path, the query and the body.

    Raises:
        InvalidInput: a field is missing, unknown, or can't be read.
    """
    in_path = set(_path_names(route))
    names = {each.name: each for each in signature_of(route.verb).parameters if each.name not in in_path}
    if _has_raw_body(route, request):
        told = _media_type(request)
        values = {"media_type": None if told in _ANY_FILE else told, **_queried(route, request, names)}
        values["source"] = await request.body()
    elif route.method in {"GET", "DELETE"}:
        values = _queried(route, request, names)
    else:
        values = await _from_body(route, request, names)
    values |= {name: name_in_path(request, name) for name in in_path}
    if "operation_id" in names and values.get("operation_id") is None:
        values["operation_id"] = request.headers.get(OPERATION_HEADER)
    values = _as_the_library_takes(route, values, names)
    for name, parameter in names.items():
        if parameter.required and name not in values:
            raise InvalidInput(_json_name(route, name), None, "it is needed")
    return values


def _queried(route: Route, request: Request, names: Mapping[str, Parameter]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if route.paged:
        names = {LIMIT.name: LIMIT, **names}
    for name in request.query_params:
        if name in names and name not in _NOT_QUERIED:
            values[name] = _from_query(names[name], request.query_params.getlist(name))
        elif name != AUDIENCE and not (name == CURSOR and route.paged):
            known = [each for each in names if each not in _NOT_QUERIED]
            raise unknown_field(name, [*known, AUDIENCE, *([CURSOR] if route.paged else [])])
    return values


async def _from_body(route: Route, request: Request, names: Mapping[str, Parameter]) -> dict[str, Any]:
    for name in request.query_params:
        if name != AUDIENCE:
            raise unknown_field(name, [AUDIENCE])
    body = await read_object(request)
    for name in body:
        if not _known(route, name, names):
            raise unknown_field(name, fields_of(route))
    return body


def call_of(verb: str, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, with `ids` spread as `forget(1, 2, 3)` takes them."""
    many = any(parameter.many for parameter in signature_of(verb).parameters)
    ids = values.get(VARIADIC, ()) if many else ()
    if isinstance(ids, str | Mapping) or not isinstance(ids, Sequence):
        raise InvalidInput(VARIADIC, ids, "it has to be a list of ids")
    return tuple(ids), {name: value for name, value in values.items() if not (many and name == VARIADIC)}


async def read_object(request: Request) -> dict[str, Any]:
    """The JSON object of a body; none where there is no body."""
    raw = await request.body()
    if not raw.strip():
        return {}
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise InvalidInput("body", raw[:40], "it has to be JSON") from None
    if not isinstance(body, dict):
        raise InvalidInput("body", type(body).__name__, "it has to be a JSON object")
    return body


def fields_of(route: Route) -> list[str]:
    """The names of the fields that a body may have."""
    in_path = set(_path_names(route))
    names = [each.name for each in signature_of(route.verb).parameters if each.name not in in_path]
    if takes_a_file(route):
        names = [name for name in names if name != "source"] + ["text", "base64"]
    return [_json_name(route, name) for name in names if name not in PAGE_ENDS]


def takes_a_file(route: Route) -> bool:
    """Whether the verb takes a file: as bytes of the body, or as text or base64 in JSON."""
    return route.verb in {"add_document", "replace_document"}


def unknown_field(name: str, known: Sequence[str]) -> InvalidInput:
    return InvalidInput(name, "", f"there is no such field; there are {', '.join(known)}" if known else "it takes none")


@cache
def is_decoded(type_: Any) -> bool:
    """Whether JSON has to be made a value of the library first: where the verb takes nothing of JSON's own."""
    parts = _parts(type_)
    return any(is_dataclass(part) for part in parts) and not any(part in _FREE for part in parts)


def _parts(type_: Any) -> list[Any]:
    """The types that a hint is made of, from unions and lists down to what they hold; no further."""
    origin = get_origin(type_)
    if origin in {Union, UnionType}:
        return [part for member in get_args(type_) for part in _parts(member)]
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return [Mapping]
    if origin is not None:
        return [part for member in get_args(type_) if member is not ... for part in _parts(member)]
    return [type_]


def _as_the_library_takes(route: Route, values: dict[str, Any], names: Mapping[str, Parameter]) -> dict[str, Any]:
    taken: dict[str, Any] = {}
    for name, value in values.items():
        parameter = names.get(name)
        if parameter is None or (route.verb, name) in _SHOWN or value is None:
            taken[name] = value
        elif is_decoded(parameter.type):
            taken[name] = from_wire(parameter.type, value, name)
        else:
            taken[name] = value
    if takes_a_file(route):
        _take_file(taken)
    if route.verb == "feedback" and "ids" in taken:
        taken["retrieved"] = taken.pop("ids")
    if route.verb == "feedback" and isinstance(taken.get("useful"), Mapping):
        taken["useful"] = {_number(key): verdict for key, verdict in taken["useful"].items()}
    return taken


def _number(key: object) -> object:
    short = isinstance(key, str) and key.isascii() and key.isdigit() and len(key) <= door.MAX_ID_DIGITS
    return int(key) if short else key  # type: ignore[call-overload]


def _take_file(values: dict[str, Any]) -> None:
    text, encoded = values.pop("text", None), values.pop("base64", None)
    if "source" in values:
        return
    if (text is None) == (encoded is None):
        raise InvalidInput("text", None, "either `text` or `base64` is needed, or the file itself as the body")
    if encoded is None:
        if not isinstance(text, str):
            raise InvalidInput("text", text, "it has to be text")
        values["source"] = text
        return
    try:
        values["source"] = base64.b64decode(encoded, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise InvalidInput("base64", encoded, "it has to be base64") from None


def read_page(request: Request) -> list[Any] | None:
    """What the page before ended with; None for the first."""
    cursor = request.query_params.get(CURSOR)
    return None if cursor is None else read_cursor(cursor)


def last_id(key: Sequence[Any], cursor: object) -> int:
    """The id that a page ended with. Raises InvalidInput for a cursor of another list."""
    if len(key) != 1 or isinstance(key[0], bool) or not isinstance(key[0], int) or not 1 <= key[0] <= door.MAX_ID:
        raise InvalidInput(CURSOR, cursor, "it has to be what a page before gave as `next`")
    return key[0]


def page_end(key: Sequence[Any], cursor: object) -> PageEnd:
    """Where a page of memories ends. Raises InvalidInput for a cursor of another list."""
    try:
        source_date, memory_id = key
        return PageEnd(datetime.fromisoformat(source_date), int(memory_id))
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(CURSOR, cursor, "it has to be what a page before gave as `next`") from None


def _path_names(route: Route) -> list[str]:
    return [part[1:-1] for part in route.path.split("/") if part.startswith("{")]


def _known(route: Route, name: str, names: Mapping[str, Parameter]) -> bool:
    if takes_a_file(route):
        return name in {"text", "base64"} or (name in names and name != "source")
    if route.verb == "feedback":
        return name in {"ids", "useful"}
    return name in names


def _json_name(route: Route, name: str) -> str:
    return "ids" if (route.verb, name) == ("feedback", "retrieved") else name


def _has_raw_body(route: Route, request: Request) -> bool:
    return takes_a_file(route) and _media_type(request) != "application/json"


def _media_type(request: Request) -> str | None:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() or None


def _from_query(parameter: Parameter, texts: list[str]) -> Any:
    """What the texts of a query stand for: numbers, flags, lists, and JSON for what has names and values."""
    parts = _parts(parameter.type)
    listed = any(get_origin(member) is not None for member in _members(parameter.type)) and Mapping not in parts
    value: Any = texts if listed and len(texts) > 1 else texts[-1]
    if Mapping in parts or any(is_dataclass(part) for part in parts):
        try:
            return json.loads(texts[-1])
        except (ValueError, RecursionError):
            raise InvalidInput(parameter.name, texts[-1], "it has to be JSON") from None
    if str in parts:
        return value
    try:
        return adapter(parameter.type).validate_python(value)
    except ValidationError as error:
        raise refusal(error, parameter.name) from None


def _members(type_: Any) -> tuple[Any, ...]:
    return get_args(type_) if get_origin(type_) in {Union, UnionType} else (type_,)
