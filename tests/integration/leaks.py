"""Three tenants, the doors that each of them comes in through, and what they do there.

Whatever a tenant writes holds its canary, in texts, tags, names, ids and files. What is told to one of them is searched
for the canaries of the others.
"""

from __future__ import annotations

import asyncio
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import click
import httpx
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from perdure import AsyncClient, Memory, Message, PerdureError
from perdure.fact_types import Participant, Persona, TurnState
from perdure.space_items import SpaceItems
from perdure.space_sessions import SpaceSessions

SHARED: Final = (
    *("garden", "letter", "winter", "bread", "lamp", "music", "harbour"),
    *("doctor", "train", "sister", "allergy", "piano", "rent", "holiday"),
)
"""Words that all of them use, so that each one's question fits what the others have said."""
VOWELS, CONSONANTS = "aeiou", "bdfgklmnprtvz"


@dataclass
class Tenant:
    """Somebody with a space, a key, and what they know of what they have."""

    number: int
    space: str
    canary: str
    token: str = ""
    texts: dict[int, str] = field(default_factory=dict)
    """Memories that were saved and not forgotten, by id."""
    facts: set[str] = field(default_factory=set)
    documents: set[int] = field(default_factory=set)
    said: int = 0

    @classmethod
    def of(cls, number: int, random: Random) -> Tenant:
        canary = "".join(random.choice(CONSONANTS) + random.choice(VOWELS) for _ in range(6))
        return cls(number, f"home-{number}-{random.randrange(16**8):08x}", canary)

    def words(self, random: Random) -> str:
        """Something new that only this tenant says."""
        self.said += 1
        return f"{self.canary}{self.said} {' '.join(random.sample(SHARED, 4))}"

    @property
    def state(self) -> TurnState:
        me = Participant(f"user-{self.canary}", f"Name{self.canary}")
        return TurnState("guild", "general", Persona(10_000, f"Momo{self.canary}"), me, (me,))


@dataclass(frozen=True)
class Call:
    """A verb of a space, and its arguments."""

    verb: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    after: Callable[[Any], None] | None = None
    """Learns from what is returned."""


@dataclass(frozen=True)
class Told:
    """What came back: the value, None where it was refused, and every word that was told."""

    value: Any
    text: str


class Door(ABC):
    """A way in."""

    name: str

    def offers(self, verb: str) -> bool:
        return verb != "chat"

    async def call(self, tenant: Tenant, call: Call, space: str | None = None) -> Told:
        """Carries out a call as this tenant; `space` names another one's. An error is told like an answer."""
        try:
            value, text = await self.carry_out(tenant, call, space or tenant.space)
        except (PerdureError, click.ClickException) as error:
            return Told(None, f"{type(error).__name__}: {error} {vars(error)}")
        return Told(value, text)

    @abstractmethod
    async def carry_out(self, tenant: Tenant, call: Call, space: str) -> tuple[Any, str]: ...


class Library(Door):
    """Each tenant has a memory that was opened for its space alone."""

    name = "library"

    def __init__(self, bound: Mapping[int, Memory]) -> None:
        self._bound = bound

    async def carry_out(self, tenant: Tenant, call: Call, space: str) -> tuple[Any, str]:
        memory = self._bound[tenant.number]
        value = await _verb_of(memory, space, call.verb)(*call.args, **call.kwargs)
        return value, repr(value)


def _verb_of(memory: Memory, space: str, verb: str) -> Callable[..., Any]:
    match verb:
        case "audit":
            return lambda: memory.audit(space)
        case "put_item" | "get_item" | "search_items":
            return getattr(SpaceItems.of(memory.space(space)), verb.partition("_")[0])
        case "session_add" | "session_items":
            return getattr(SpaceSessions.of(memory.space(space)), verb.partition("_")[2])
    return getattr(memory.space(space), verb)


LIBRARY_ONLY: Final = frozenset({"audit", "put_item", "get_item", "search_items", "session_add", "session_items"})


class Rest(Door):
    """The client of the server; the bytes of its answers are listened to, too."""

    name = "rest"

    def __init__(self, address: str) -> None:
        self._address = address

    def offers(self, verb: str) -> bool:
        return verb != "chat" and verb not in LIBRARY_ONLY

    async def carry_out(self, tenant: Tenant, call: Call, space: str) -> tuple[Any, str]:
        heard: list[str] = []

        async def listen(answer: httpx.Response) -> None:
            heard.append(f"{answer.headers} {(await answer.aread()).decode('utf-8', 'replace')}")

        async with AsyncClient(self._address, key=tenant.token) as client:
            client._http.event_hooks = {"request": [], "response": [listen]}
            try:
                value = await getattr(client.space(space), call.verb)(*call.args, **call.kwargs)
            except PerdureError as error:
                return None, f"{error} {' '.join(heard)}"
        return value, f"{value!r} {' '.join(heard)}"


class Proxy(Door):
    """A chat with the model behind the server, whose answer repeats the whole prompt."""

    name = "proxy"

    def __init__(self, address: str) -> None:
        self._address = address

    def offers(self, verb: str) -> bool:
        return verb == "chat"

    async def carry_out(self, tenant: Tenant, call: Call, space: str) -> tuple[Any, str]:
        headers = {"Authorization": f"Bearer {tenant.token}", "X-Perdure-Space": space}
        body = {"model": "m", "messages": [{"role": "user", "content": call.args[0]}], **call.kwargs}
        async with httpx.AsyncClient(base_url=self._address, headers=headers, timeout=30) as client:
            answer = await client.post("/v1/chat/completions", json=body)
        return answer.status_code, f"{answer.status_code} {answer.headers} {answer.text}"


class Mcp(Door):
    """The official client over streamable HTTP; tools and resources by the verbs that they stand for."""

    name = "mcp"

    def __init__(self, address: str) -> None:
        self._address = address

    def offers(self, verb: str) -> bool:
        return verb in _TOOLS or verb in _RESOURCES

    async def carry_out(self, tenant: Tenant, call: Call, space: str) -> tuple[Any, str]:
        headers = {"Authorization": f"Bearer {tenant.token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(f"{self._address}/mcp/{space}", http_client=http)) as client,
        ):
            if call.verb in _RESOURCES:
                try:
                    found = await client.read_resource(_RESOURCES[call.verb](*call.args))
                except MCPError as error:
                    return None, f"{error} {error.error}"
                return found, repr(found)
            told = await client.call_tool(*_TOOLS[call.verb](*call.args, **call.kwargs))
        value = None if told.is_error else told.structured_content or {}
        return _Data(value) if value is not None else None, repr(told)


class _Data(dict[str, Any]):
    """What a tool told as data, with the ids of memories as the library has them."""

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(map(int, self.get("ids", ())))


_TOOLS: Final[dict[str, Callable[..., tuple[str, dict[str, Any]]]]] = {
    "save": lambda text, tags=(), **_: ("save_memory", {"text": text, "tags": list(tags)}),
    "search": lambda query, **_: ("search_memory", {"query": query}),
    "update": lambda each, text: ("update_memory", {"memory_id": str(each), "text": text}),
    "forget": lambda each: ("forget_memory", {"memory_ids": [str(each)], "confirm": True}),
    "create_long_term_memory": lambda _, arguments: ("create_long_term_memory", arguments),
    "update_long_term_memory": lambda _, arguments: ("update_long_term_memory", arguments),
    "consolidate": lambda: ("consolidate_memory", {}),
    "consult": lambda question: ("consult_deep_thinker", {"question": question}),
}
_RESOURCES: Final[dict[str, Callable[..., str]]] = {
    "get": lambda each: f"perdure://memories/{each}",
    "identity": lambda: "perdure://identity",
}


class CommandLine(Door):
    """`perdure` in a thread, one call at a time: its words go to a stdout that is the whole process's."""

    name = "cli"

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    def offers(self, verb: str) -> bool:
        return verb in _COMMANDS

    async def carry_out(self, tenant: Tenant, call: Call, space: str) -> tuple[Any, str]:
        arguments = [*_COMMANDS[call.verb](*call.args), "--space", space, "--json"]
        async with self._turn:
            printed = await asyncio.to_thread(_run, arguments)
        document = json.loads(printed.partition("\0")[0] or "{}")
        ids = document.get("ids")
        return tuple(map(int, ids)) if call.verb == "save" and ids else document, printed


def _run(arguments: list[str]) -> str:
    from perdure.cli.root import cli

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        cli.main(arguments, prog_name="perdure", standalone_mode=False)
    return f"{out.getvalue()}\0{err.getvalue()}"


_COMMANDS: Final[dict[str, Callable[..., list[str]]]] = {
    "save": lambda text: ["save", text],
    "search": lambda query: ["search", query],
    "recall": lambda message: ["recall", message],
    "inspect_context": lambda message: ["context", message, "--inspect"],
    "list": lambda: ["list"],
    "get": lambda each: ["show", str(each)],
    "forget": lambda each: ["forget", str(each), "--yes"],
    "stats": lambda: ["stats"],
    "facts": lambda: ["facts", "list"],
    "fact": lambda each: ["facts", "show", str(each)],
    "pin_fact": lambda each: ["facts", "pin", str(each)],
    "forget_fact": lambda each: ["facts", "forget", str(each), "--yes"],
    "documents": lambda: ["documents", "list"],
    "document": lambda each: ["documents", "show", str(each)],
    "delete_document": lambda each: ["documents", "delete", str(each), "--yes"],
    "search_documents": lambda query: ["documents", "search", query],
    "identity": lambda: ["cognition", "identity"],
    "failed": lambda: ["failed", "list"],
    "drain": lambda: ["drain"],
    "upkeep": lambda: ["upkeep"],
    "audit": lambda: ["audit"],
    "usage": lambda: ["stats", "--usage", "3"],
}


# -- what they do ------------------------------------------------------------------------------------------------------


def writing(tenant: Tenant, random: Random) -> Call:
    """Something that is kept."""
    text, tag = tenant.words(random), f"tag{tenant.canary}"
    mine = f"{tenant.canary}{random.randrange(1000)}"
    choices: list[Call] = [
        Call("save", (text,), after=lambda value: _saved(tenant, value, text)),
        Call("save", (text,), after=lambda value: _saved(tenant, value, text)),
        Call("save", (text,), {"tags": [tag], "speaker": mine}, lambda value: _saved(tenant, value, text)),
        Call("capture", (), {"user": text, "assistant": f"I see, {tenant.canary}", "conversation_id": mine}),
        Call("bootstrap", (text,)),
        Call("import_messages", ([Message(text, mine)],), {"source": f"file-{tenant.canary}"}),
        Call("remember", (text,), after=lambda value: _remembered(tenant, value)),
        Call("create_long_term_memory", (tenant.state, {"memory_content": text, "memory_scope": "server_wide"})),
        Call("add_document", (text.encode(),), {"name": f"{mine}.txt"}, lambda value: _added(tenant, value)),
        Call("set_task", (text,)),
        Call("set_person", (mine,), {"name": mine, "aliases": [f"alias-{mine}"]}),
        Call("persona", (mine,)),
        Call("forget_source", (f"import:file-{tenant.canary}",)),
        Call("forget_person", (mine,)),
        Call("put_item", (("notes",), "shared"), {"value": {"text": text}, "words": [text]}),
        Call("put_item", (("notes", mine), mine), {"value": {"text": text}, "words": [text]}),
        Call("session_add", ("session", [{"role": "user", "content": text}])),
        Call("drain"),
        Call("upkeep"),
        Call("consolidate"),
        Call("chat", (text,)),
        Call("chat", (text,), {"stream": True}),
    ]
    if tenant.texts:
        one = random.choice(list(tenant.texts))
        choices += [
            Call("update", (one,), {"text": text}, lambda value: _saved(tenant, value, text, one)),
            Call("pin", (one,)),
            Call("feedback", ([one],), {"useful": {one: True}}),
            Call("forget", (one,), after=lambda value: _gone(tenant, value)),
            Call("preview_forget", (), {"ids": [one]}),
        ]
    if tenant.facts:
        fact = random.choice(sorted(tenant.facts))
        choices += [
            Call("edit_fact", (fact,), {"content": text}),
            Call("pin_fact", (fact,)),
            Call("forget_fact", (fact,), after=lambda value: _forgotten(tenant, fact, value)),
        ]
    return random.choice(choices)


def reading(random: Random) -> Call:
    """A question, in words that all tenants have used."""
    asked = " ".join(random.sample(SHARED, 3))
    return random.choice(
        [
            Call("search", (asked,)),
            Call("search", (asked,)),
            Call("search", (asked,), {"exact": True, "plain": True}),
            Call("recall", (asked,)),
            Call("recall", (asked,), {"history": [{"role": "user", "content": asked}]}),
            Call("context", (asked,)),
            Call("inspect_context", (asked,)),
            Call("chat", (asked,)),
            Call("search_documents", (asked,)),
            Call("consult", (asked,)),
            Call("get_item", (("notes",), "shared")),
            Call("search_items", ((),), {"query": asked}),
            Call("session_items", ("session",)),
            *(
                Call(verb)
                for verb in (
                    *("list", "stats", "facts", "documents", "people", "personas", "task_recall", "identity"),
                    *("traits", "cognition_runs", "failed", "usage", "pruned", "savings", "audit"),
                )
            ),
        ]
    )


def reaching(tenant: Tenant, other: Tenant, random: Random) -> Call | None:
    """What `tenant` tries on something that is the other's, by its id; None while the other has nothing."""
    asked = " ".join(random.sample(SHARED, 3))
    choices: list[Call] = []
    if other.texts:
        one = random.choice(list(other.texts))
        choices += [
            *(Call(verb, (one,)) for verb in ("get", "evidence", "history", "pin", "restore", "forget")),
            Call("update", (one,), {"text": tenant.words(random)}),
            Call("why_not", (one, asked)),
            Call("preview_forget", (), {"ids": [one]}),
            Call("feedback", ([one],), {"useful": {one: False}}),
        ]
    if other.facts:
        fact = random.choice(sorted(other.facts))
        choices += [Call(verb, (fact,)) for verb in ("fact", "fact_history", "pin_fact", "forget_fact")]
        choices += [
            Call("edit_fact", (fact,), {"content": tenant.words(random)}),
            Call(
                "update_long_term_memory", (tenant.state, {"memory_id": fact, "memory_content": tenant.words(random)})
            ),
        ]
    if other.documents:
        document = random.choice(sorted(other.documents))
        choices += [Call(verb, (document,)) for verb in ("document", "delete_document")]
        choices.append(Call("replace_document", (document, tenant.words(random).encode())))
    return random.choice(choices) if choices else None


def _saved(tenant: Tenant, value: Any, text: str, one: int | None = None) -> None:
    ids = (one,) if one is not None else value if isinstance(value, tuple) else getattr(value, "ids", ())
    tenant.texts.update(dict.fromkeys(ids, text))


def _gone(tenant: Tenant, value: Any) -> None:
    ids = value["erased"] if isinstance(value, dict) else value.ids
    for each in map(int, ids):
        tenant.texts.pop(each, None)


def _remembered(tenant: Tenant, value: Any) -> None:
    tenant.facts.add(str(value.id))


def _forgotten(tenant: Tenant, fact: str, value: Any) -> None:
    tenant.facts.discard(fact)


def _added(tenant: Tenant, value: Any) -> None:
    tenant.documents.add(value.document.id)
