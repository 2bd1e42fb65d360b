"""What OpenAPI says of each route, taken from the verbs themselves: their parameters, types and docstrings."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response
from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from perdure.cognition import Identity
from perdure.context import Context
from perdure.ingest import Receipt
from perdure.serve.problems import MEDIA_TYPE
from perdure.serve.problems import SCHEMA as PROBLEM
from perdure.serve.rest.arguments import AUDIENCE, CURSOR, takes_a_file
from perdure.store.spaces import SpaceRow
from perdure.store.workers import WorkerStatus
from perdure.wire import PAGE_ENDS, ROUTES, IdentityCard, Parameter, Prompt, Route, adapter, signature_of

REF: Final = "#/components/schemas/{model}"
ID: Final = {"type": ["integer", "string"], "pattern": "^[0-9]{1,19}$", "minimum": 1, "maximum": 2**63 - 1}
IDS: Final = {"type": "array", "items": ID}
_SHOWN: Final = {
    "description": "What the prompt held: the ids of its memories, or the `context_id` that `context` returned.",
    "anyOf": [
        IDS,
        {
            "type": "object",
            "properties": {"context_id": {"type": ["string", "null"]}, "ids": {**IDS, "type": ["array", "null"]}},
            "additionalProperties": False,
        },
        {"type": "null"},
    ],
}
_BY_NAME: Final[dict[str, dict[str, Any]]] = {
    "memory_id": ID,
    "document_id": ID,
    "run_id": ID,
    "failed_id": ID,
    "fact_id": {"type": "string", "examples": ["S24", "P7"]},
}
_BY_HAND: Final = {("capture", "recall"), ("feedback", "retrieved"), ("list", "before")}
_OF_SERVER: Final[dict[str, Any]] = {
    "spaces": tuple[SpaceRow, ...],
    "worker_status": WorkerStatus,
    "forget_space": Receipt,
}
"""What operations return that concern more than one space."""
_KEY: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key of `perdure keys create`. Without any key in the database, this machine needs none.",
}
_PROBLEMS: Final = {
    401: "No key, or none that counts.",
    403: "The key doesn't reach so far, or a person's privacy forbids it.",
    404: "It is not there for this caller.",
    409: "It was changed meanwhile, there is no room, or the operation id was used for something else.",
    413: "The body is too large.",
    422: "A field was refused; nothing was written.",
    429: "Too many requests; `Retry-After` says when.",
    500: "A fault of the server.",
    502: "A model answered nonsense.",
    503: "Database, embedder or model is out of reach; repeat it with the same operation id.",
}
_SECTION: Final = re.compile(r"^(Args|Returns|Raises):$", re.MULTILINE)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Answers that are problems, for the documentation of a route; without statuses all of them."""
    schema = {"$ref": REF.format(model="Problem")}
    chosen = statuses or tuple(_PROBLEMS)
    return {each: {"description": _PROBLEMS[each], "content": {MEDIA_TYPE: {"schema": schema}}} for each in chosen}


def answered(operation: str) -> dict[int | str, dict[str, Any]]:
    """All answers of an operation that concerns more than one space."""
    schema = _definitions()["answers"][operation]
    if operation == "spaces":
        schema = _page_of(schema)
    return {200: {"description": "Done.", "content": {"application/json": {"schema": schema}}}, **problems()}


def described(route: Route) -> dict[str, Any]:
    """The arguments of `add_api_route` that document a verb."""
    signature = signature_of(route.verb)
    in_path = {part[1:-1] for part in route.path.split("/") if part.startswith("{")}
    others = [each for each in signature.parameters if each.name not in in_path]
    extra: dict[str, Any] = {"parameters": [*_of_path(route), _audience(route)]}
    if route.method in {"GET", "DELETE"}:
        extra["parameters"] += [_in_query(route, each) for each in others if each.name not in PAGE_ENDS]
        if route.paged:
            extra["parameters"] += _of_pages({each.name for each in others})
    else:
        extra["requestBody"] = _body(route, others)
    if any(each.name == "operation_id" for each in others):
        extra["parameters"].append(_IDEMPOTENCY)
    return {
        "summary": signature.summary,
        "description": _told(signature.told, route),
        "tags": [route.tag],
        "status_code": 204 if signature.returns is type(None) else 200,
        "response_class": Response if signature.returns is type(None) else JSONResponse,
        "responses": {**_answers(route), **problems()},
        "openapi_extra": extra,
    }


def install(app: FastAPI) -> None:
    """Adds the types of all verbs to the description of the application."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            described_by_fastapi = FastAPI.openapi(app)
            schemas = described_by_fastapi.setdefault("components", {}).setdefault("schemas", {})
            schemas |= {**_definitions()["$defs"], "Problem": PROBLEM}
            described_by_fastapi["components"]["securitySchemes"] = {"key": _KEY}
            described_by_fastapi["security"] = [{"key": []}, {}]
            app.openapi_schema = described_by_fastapi
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


_IDEMPOTENCY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": "The same as `operation_id`, where the body has none.",
}


def _told(text: str, route: Route) -> str:
    """The docstring without its sections: parameters and answers are described where they stand."""
    found = _SECTION.search(text)
    words = text[: found.start()].strip() if found else text
    return f"{words}\n\nNeeds the scope `{route.scope}`.".strip()


def _of_path(route: Route) -> list[dict[str, Any]]:
    names = ["space", *(part[1:-1] for part in route.path.split("/") if part.startswith("{"))]
    text = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "schema": _BY_NAME.get(name, text) if name != "space" else text}
        for name in names
    ]


def _audience(route: Route) -> dict[str, Any]:
    return {
        "name": AUDIENCE,
        "in": "query",
        "required": False,
        "schema": {"type": "string"},
        "description": "A group or conversation: it sees its own and what belongs to the whole space.",
    }


def _of_pages(there: set[str]) -> list[dict[str, Any]]:
    limit = {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000}}
    cursor = {"name": CURSOR, "in": "query", "schema": {"type": "string"}, "description": "`next` of the page before."}
    return [cursor] if "limit" in there else [limit, cursor]


def _in_query(route: Route, parameter: Parameter) -> dict[str, Any]:
    schema = _schema(route, parameter)
    found: dict[str, Any] = {"name": parameter.name, "in": "query", "required": parameter.required, "schema": schema}
    if _is_json(schema):
        found |= {"content": {"application/json": {"schema": schema}}}
        del found["schema"]
    return found


def _is_json(schema: dict[str, Any]) -> bool:
    members = schema.get("anyOf", [schema])
    return any(member.get("type") == "object" or "$ref" in member for member in members)


def _body(route: Route, parameters: list[Parameter]) -> dict[str, Any]:
    properties = {each.name: _schema(route, each) for each in parameters}
    required = [each.name for each in parameters if each.required]
    if route.verb == "feedback":
        properties = {"ids": IDS, "useful": {"type": ["object", "null"], "additionalProperties": {"type": "boolean"}}}
        required = ["ids"]
    content: dict[str, Any] = {}
    if takes_a_file(route):
        properties.pop("source")
        properties |= {"text": {"type": "string"}, "base64": {"type": "string", "contentEncoding": "base64"}}
        required = []
        content["application/octet-stream"] = {"schema": {"type": "string", "format": "binary"}}
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    content = {"application/json": {"schema": schema}, **content}
    return {"required": bool(required) or takes_a_file(route), "content": content}


def _answers(route: Route) -> dict[int | str, dict[str, Any]]:
    returns = signature_of(route.verb).returns
    if returns is type(None):
        return {204: {"description": "Done."}}
    schema = _definitions()["answers"][route.verb]
    if route.paged:
        schema = _page_of(schema)
    if returns is int:
        schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    content = {"content": {"application/json": {"schema": schema}}}
    found: dict[int | str, dict[str, Any]] = {200: {"description": "Done.", **content}}
    if route.created:
        found[201] = {"description": "Made.", **content}
        found[202] = {"description": "Committed, and waits to be worked off.", **content}
    return found


def _page_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"items": schema, "next": {"type": ["string", "null"], "description": "None at the end."}},
        "required": ["items", "next"],
    }


def _schema(route: Route, parameter: Parameter) -> dict[str, Any]:
    if (route.verb, parameter.name) == ("capture", "recall"):
        return _SHOWN
    if parameter.many:
        return IDS if "fact" not in route.verb else {"type": "array", "items": {"type": "string"}}
    found: dict[str, Any] = _BY_NAME.get(parameter.name) or _definitions()["parameters"][route.verb, parameter.name]
    return found


@cache
def _definitions() -> dict[str, Any]:
    """Schemas of all parameters and answers, with the types that they have in common below `$defs`."""
    wanted: list[tuple[tuple[str, str], JsonSchemaMode, TypeAdapter[Any]]] = []
    free: dict[tuple[str, str], dict[str, Any]] = {}
    for route in ROUTES:
        signature = signature_of(route.verb)
        for parameter in signature.parameters:
            key = (route.verb, parameter.name)
            if key in _BY_HAND or _says_nothing(parameter):
                free[key] = {}
            else:
                wanted.append((key, "validation", adapter(parameter.type)))
        wanted.append(((route.verb, ""), "serialization", adapter(_sent(signature.returns))))
    wanted += [((operation, ""), "serialization", adapter(returns)) for operation, returns in _OF_SERVER.items()]
    made, definitions = TypeAdapter.json_schemas(wanted, ref_template=REF)
    parameters = {key: dict(schema) for (key, mode), schema in made.items() if mode == "validation"}
    answers = {key[0]: schema for (key, mode), schema in made.items() if mode == "serialization"}
    return {"$defs": definitions.get("$defs", {}), "parameters": parameters | free, "answers": answers}


def _says_nothing(parameter: Parameter) -> bool:
    """Whether a type is none of JSON's: the route describes it by hand."""
    try:
        adapter(parameter.type).json_schema()
    except Exception:
        return True
    return False


def _sent(returns: Any) -> Any:
    return {Context: Prompt, Identity: IdentityCard}.get(returns, returns)
