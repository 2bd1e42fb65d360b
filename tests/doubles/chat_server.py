"""A server that speaks the chat completions protocol over real HTTP, answers from a script, and misbehaves on demand.

It knows which question it is asked by the system prompt, which is the same in every call of a prompt. Nothing scripted,
it answers plausibly: a triage keeps what the user said, a comparison finds two memories compatible.

    with serving("ollama") as server:
        server.answer("triage", lambda request: {"salience": 8, "summary": request.data("user")})
        server.then("contradiction", {"verdict": "UPDATES"}, HANG, TOO_MANY)

Answers are given to call sites or to prompts ("triage_email"). A dict is laid over the plausible answer and sent as
JSON, a str is sent as it is, a Behaviour does what it says, and a function of the request, async or not, returns any of
these. An error in such a function is raised again when the block ends.

`python -m tests.doubles.chat_server` serves plausible answers from a process of its own; `in_a_process` starts it.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import itertools
import json
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from perdure.llm import prompting
from tests.doubles.gbnf import pattern
from tests.doubles.http_connection import Connection
from tests.doubles.plausible import plausible

DIALECTS = ("llamacpp", "vllm", "ollama", "openai")
_PIECE = 16


@dataclass(frozen=True)
class Say:
    """A completion: text, and reasoning beside it as `reasoning_content`."""

    text: str
    reasoning: str = ""
    finish_reason: str = "stop"


@dataclass(frozen=True)
class Refuse:
    """An HTTP error."""

    status: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Any bytes as the body of a 200."""

    content: bytes


@dataclass(frozen=True)
class Broken:
    """Half a completion, then the connection is closed, or (`stalls`) silent for as long as the server lives."""

    text: str = '{"salience": 7, "summary": "The user has moved to'
    stalls: bool = False


@dataclass(frozen=True)
class Slow:
    """The plausible answer, or `then`, after so many seconds."""

    seconds: float
    then: Any = None


@dataclass(frozen=True)
class Hang:
    """No answer at all for as long as the server lives."""


Behaviour = Say | Refuse | Raw | Broken | Slow | Hang
Answer = Behaviour | str | Mapping[str, Any] | None
Script = Answer | Callable[["Request"], Answer | Awaitable[Answer]]

HANG = Hang()
HALF = Broken()
STALL = Broken(stalls=True)
GARBAGE = Raw(b"<html>Bad gateway, with love</html>")
EMPTY = Say("")
WRONG_JSON = Say('{"salience": "enormous", "verdict": 7')
CUT_OFF = Say('{"language":"en","summary":"The user has mov', finish_reason="length")
TOO_MANY = Refuse(429, "slow down", {"Retry-After": "0"})


def thinking(answer: str, thought: str = "The user wants JSON.") -> Say:
    """Reasoning in front of the answer, in tags, as models without a parser send it."""
    return Say(f"<think>{thought}</think>\n{answer}")


@dataclass(frozen=True)
class Request:
    """One chat completion that was asked for. `prompt` and `site` are "" for a system prompt that is not ours."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    prompt: str
    site: str

    @property
    def user(self) -> str:
        return str(next(message["content"] for message in self.body["messages"] if message["role"] == "user"))

    @property
    def repaired(self) -> bool:
        """Whether an answer was sent back, to be mended."""
        return any(message["role"] == "assistant" for message in self.body["messages"])

    def data(self, name: str) -> str:
        """What stands in the data element of that name, as it was before it was escaped; "" for none."""
        found = re.search(rf'<data name="{name}">(.*?)</data>', self.user, re.DOTALL)
        return html.unescape(found[1].replace("\n  ", "\n")) if found else ""


class ChatServer:
    """A running double. `requests` holds what came in, `most_at_once` how many were in work side by side."""

    def __init__(
        self,
        dialect: str,
        *,
        key: str | None = None,
        slots: int = 4,
        model: str = "double",
        delay_s: float = 0.0,
        recording: bool = True,
    ) -> None:
        assert dialect in DIALECTS
        self.dialect, self.key, self.slots, self.model = dialect, key, slots, model
        self.delay_s, self.recording = delay_s, recording
        self.refused: set[str] = set()
        self.requests: list[Request] = []
        self.paths: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.errors: list[Exception] = []
        self.most_at_once = 0
        self._at_once = 0
        self._scripts: dict[str, Script] = {}
        self._queues: dict[str, deque[Script]] = {}
        self._ids = itertools.count(1)
        self._connections: set[asyncio.StreamWriter] = set()
        self._port = 0
        self._listener: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.up()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def answer(self, name: str, script: Script) -> None:
        """Every request of a call site or prompt is answered so; "" is every one that has no script of its own."""
        self._scripts[name] = script

    def then(self, name: str, *scripts: Script) -> None:
        """The next requests of a call site or prompt are answered so, one each; "" is any request."""
        self._queues.setdefault(name, deque()).extend(scripts)

    def refuse(self, *parameters: str) -> None:
        """Requests with one of these parameters get a 400 that names it."""
        self.refused.update(parameters)

    def asked(self, name: str) -> list[Request]:
        """The requests of a call site or prompt, in their order."""
        return [request for request in self.requests if name in (request.site, request.prompt)]

    def down(self) -> None:
        """Refuses connections and cuts those there are, as a server that is gone."""

        async def stop() -> None:
            if self._listener is not None:
                self._listener.close()
                self._listener = None
            for writer in list(self._connections):
                writer.transport.abort()

        self._run(stop())

    def up(self) -> None:
        """Listens again, at the same address."""

        async def start() -> asyncio.Server:
            return await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=2**24, backlog=1000)

        if self._listener is None:
            self._listener = self._run(start())
            self._port = self._listener.sockets[0].getsockname()[1]

    def close(self) -> None:
        self.down()

        async def settle() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self._run(settle())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass
        self._connections.discard(writer)
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; False if the connection is to be closed."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        if self.recording:
            self.paths.append(path)
            self.headers.append(headers)
        connection = Connection(reader, writer)
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            await connection.document({"error": {"message": "wrong key", "code": "invalid_api_key"}}, 401)
        elif method == "POST" and path == "/v1/chat/completions":
            return await self._complete(_request(json.loads(content), headers), connection)
        else:
            known = self._routes() if method == "GET" else {}
            missing = {"error": {"message": f"no {path} here", "code": 404}}
            await connection.document(known.get(path, missing), 200 if path in known else 404)
        return True

    def _routes(self) -> dict[str, Any]:
        """What each kind of server shows of itself."""
        owner = {"llamacpp": "llamacpp", "vllm": "vllm", "ollama": "library", "openai": "system"}[self.dialect]
        listed: dict[str, Any] = {"id": self.model, "object": "model", "created": 1764547200, "owned_by": owner}
        own: dict[str, Any] = {}
        if self.dialect == "llamacpp":
            settings = {"n_ctx": 8192, "params": {"n_predict": -1}}
            own = {
                "/props": {
                    "default_generation_settings": settings,
                    "total_slots": self.slots,
                    "model_path": self.model,
                },
                "/health": {"status": "ok"},
            }
        elif self.dialect == "vllm":
            listed["max_model_len"] = 8192
            own = {"/version": {"version": "0.11.0"}, "/health": {}}
        elif self.dialect == "ollama":
            own = {"/api/version": {"version": "0.12.3"}, "/api/tags": {"models": [{"name": self.model}]}}
        return {"/v1/models": {"object": "list", "data": [listed]}, **own}

    async def _complete(self, request: Request, connection: Connection) -> bool:
        if self.recording:
            self.requests.append(request)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            try:
                behaviour = self._objection(request.body) or await self._behaviour(request)
            except Exception as error:
                self.errors.append(error)
                behaviour = Refuse(500, f"the script failed: {error!r}")
            return await self._do(behaviour, request, connection)
        finally:
            self._at_once -= 1

    def _objection(self, body: Mapping[str, Any]) -> Refuse | None:
        """What servers of this kind refuse by themselves, and what this one was told to."""
        unknown = set(self.refused)
        if self.dialect == "openai":
            unknown |= {"grammar", "chat_template_kwargs", "reasoning_format", "think"}
        if refused := sorted(unknown & set(body)):
            return Refuse(400, f"Unrecognized request argument supplied: {refused[0]}")
        if self.dialect == "llamacpp" and "grammar" in body and "response_format" in body:
            return Refuse(500, "Cannot use both grammar and json_schema")
        return None

    async def _behaviour(self, request: Request) -> Behaviour:
        script: Script = None
        for name in ("", request.prompt, request.site):
            if self._queues.get(name):
                return await self._resolved(self._queues[name].popleft(), request)
        for name in ("", request.site, request.prompt):
            script = self._scripts.get(name, script)
        return await self._resolved(script, request)

    async def _resolved(self, script: Script, request: Request) -> Behaviour:
        answer: Any = script(request) if callable(script) else script
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, Slow):
            await asyncio.sleep(answer.seconds)
            return await self._resolved(answer.then, request)
        if answer is None or isinstance(answer, Mapping):
            usual = plausible(request.site, request.data, request.body)
            if isinstance(usual, str):
                assert not answer, f"no JSON is asked for by {request.prompt or 'this request'}"
                return Say(usual)
            text = json.dumps({**usual, **(answer or {})}, ensure_ascii=False, separators=(",", ":"))
            possible = "grammar" not in request.body or _sentences(request.body["grammar"]).fullmatch(text)
            assert possible, f"with its grammar no server could say {text}; script a str to have it said nevertheless"
            return Say(text)
        return Say(answer) if isinstance(answer, str) else answer

    async def _do(self, behaviour: Behaviour, request: Request, connection: Connection) -> bool:
        match behaviour:
            case Hang():
                await connection.wait_until_gone()
                return False
            case Refuse(status, message, headers):
                await connection.document({"error": {"message": message, "code": status}}, status, headers)
            case Raw(content):
                await connection.whole(content)
            case Say() if request.body.get("stream"):
                await connection.stream(self._events(behaviour, request))
            case Say():
                await connection.document(self._completion(behaviour, request))
            case Broken(text, stalls):
                if request.body.get("stream"):
                    await connection.stream(self._events(Say(text), request)[:-3], ends=False)
                else:
                    content = json.dumps(self._completion(Say(text), request)).encode()
                    await connection.whole(content[: len(content) // 2], length=len(content))
                if stalls:
                    await connection.wait_until_gone()
                return False
            case Slow():
                raise AssertionError("resolved before")
        return True

    def _completion(self, said: Say, request: Request) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.reasoning:
            message["reasoning_content"] = said.reasoning
        choice = {"index": 0, "message": message, "finish_reason": said.finish_reason, "logprobs": None}
        return {**self._frame("chat.completion"), "choices": [choice], "usage": _usage(said, request)}

    def _events(self, said: Say, request: Request) -> list[dict[str, Any]]:
        frame = self._frame("chat.completion.chunk")

        def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
            return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        events = [event({"role": "assistant", "content": None})]
        events += [event({"reasoning_content": piece}) for piece in _pieces(said.reasoning)]
        events += [event({"content": piece}) for piece in _pieces(said.text)]
        events.append(event({}, said.finish_reason))
        if (request.body.get("stream_options") or {}).get("include_usage"):
            events.append({**frame, "choices": [], "usage": _usage(said, request)})
        return events

    def _frame(self, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-{next(self._ids)}", "object": kind, "created": 1764547200, "model": self.model}


@contextmanager
def serving(dialect: str = "llamacpp", **options: Any) -> Iterator[ChatServer]:
    """A double for as long as the block lasts; the options are those of ChatServer."""
    server = ChatServer(dialect, **options)
    try:
        yield server
    finally:
        server.close()
    if server.errors:
        raise server.errors[0]


@contextmanager
def in_a_process(dialect: str = "llamacpp", *, delay_s: float = 0.0) -> Iterator[str]:
    """The URL of a double in a process of its own, which answers plausibly and records nothing."""
    command = [sys.executable, "-m", "tests.doubles.chat_server", "--dialect", dialect, "--delay-s", str(delay_s)]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.communicate()  # it ends with its standard input


@cache
def _sentences(grammar: str) -> re.Pattern[str]:
    return pattern(grammar)


@cache
def _systems() -> dict[str, str]:
    """The prompts by what they always say."""
    return {prompting.load(name).system: name for name in prompting.names()}


def _request(body: dict[str, Any], headers: Mapping[str, str]) -> Request:
    told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] != "assistant")
    prompt = _systems().get(str(body["messages"][0]["content"]), "")
    prompt = prompt or next((name for system, name in _systems().items() if system in told), "")
    return Request(body, headers, prompt, prompting.load(prompt).site if prompt else "")


def _pieces(text: str) -> list[str]:
    return [text[place : place + _PIECE] for place in range(0, len(text), _PIECE)]


def _usage(said: Say, request: Request) -> dict[str, int]:
    asked = sum(len(str(message["content"])) for message in request.body["messages"]) // 4 + 1
    told = (len(said.text) + len(said.reasoning)) // 4 + 1
    return {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dialect", choices=DIALECTS, default="llamacpp")
    parser.add_argument("--delay-s", type=float, default=0.0)
    options = parser.parse_args()
    with serving(options.dialect, delay_s=options.delay_s, recording=False) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
