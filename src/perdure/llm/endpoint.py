"""One OpenAI-compatible chat server: llama.cpp, vLLM, Ollama, LM Studio, OpenAI itself.

Who is asked, in what dialect, how often and for how long is decided here; what comes back is text that may be taken
for an answer, or one of two errors. ModelUnavailable is an outage: the work waits. ModelFailed is this input's fault.
Where only the server knows (it didn't answer in time, broke off, or said HTTP 500), a tiny request tells the two apart.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import urlsplit

from pydantic import BaseModel

from perdure.clock import Clock
from perdure.errors import ConfigurationError, ModelFailed, ModelUnavailable
from perdure.llm.connection import Connection, Dropped, Refused, Unreachable
from perdure.llm.dialects import Dialect, Form, Learned, Sighting, base_url, compose, detect, first_form
from perdure.llm.port import Call, Reply, Said
from perdure.llm.reasoning import split_reasoning
from perdure.llm.refusals import Refusal, learn, shown_reason, weaker_form
from perdure.llm.slots import Slots
from perdure.llm.usage import ModelUse, estimated_tokens
from perdure.llm.wire import Broken, Completion
from perdure.rules import breaker as circuit

if TYPE_CHECKING:
    from perdure.llm.prompting import Prompt

_TRUNCATED: Final = frozenset({"length", "max_tokens", "model_length"})
_WITHHELD: Final = frozenset({"content_filter", "refusal", "safety"})
_WORTH_REPEATING: Final = frozenset({408, 425, 429, 502, 503, 504, 529})
_REFUSED_KEY: Final = frozenset({401, 403})
_ELSEWHERE: Final = frozenset({301, 302, 307, 308, 404, 405, 410})
_PAY: Final = 402
_SERVER_ERRORS: Final = 500
_ADAPTATIONS: Final = 12
_NAMED_MODELS: Final = 6
_MODEL_CHARS: Final = 120
_HELLO: Final = ({"role": "user", "content": "Say OK."},)


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """How an endpoint is used. Times in seconds."""

    attempts: int = 4
    """Requests for one call in all, while the server is busy or can't be reached."""
    live_attempts: int = 2
    """The same where a turn waits."""
    first_backoff: float = 0.5
    """Doubles with every attempt, up to `longest_backoff`, each time shortened at random by up to half."""
    longest_backoff: float = 8.0
    connect: float = 5.0
    stall: float = 30.0
    """Between two pieces of a streamed answer."""
    probe: float = 8.0
    """For the tiny request that tells an outage from a bad input."""
    peek: float = 2.0
    """For one request that finds out the dialect."""


@dataclass(frozen=True, slots=True)
class _Asked:
    messages: tuple[dict[str, str], ...]
    thinking: bool
    schema: type[BaseModel] | None

    @property
    def length(self) -> str:
        return "".join(message["content"] for message in self.messages)


class _Adapted:
    """The server refused a parameter; it is left out from now on."""


@dataclass(frozen=True, slots=True)
class _Setback:
    """A failure that may pass: why, how long the server asks to wait, and whether it fell silent on this request."""

    reason: str
    permit: circuit.Permit
    wait: float | None = None
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A failure that may be the server's or the input's. `short`: most of the time had gone into waiting."""

    reason: str
    answer: str = ""
    timed_out: bool = False
    short: bool = False


class Endpoint:
    """A LanguageModel behind `url` (`http://localhost:8080/v1`, or without `/v1`).

    Args:
        url: http or https, without a user or a password in it.
        model: its name for the server; None takes the one the server lists.
        key: sent as a bearer token; it stands in no error, log or repr.
        slots: requests at a time.
        dialect: None finds it out at the first request.
        variable: how its settings begin, for hints (`PERDURE_THINKER`).
        chance: numbers in 0..1 for the jitter; `sleep` waits that many seconds.

    Raises ConfigurationError for a URL that can't be one.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        model: str | None = None,
        key: str | None = None,
        slots: int = 1,
        dialect: Dialect | None = None,
        limits: EndpointLimits | None = None,
        variable: str = "PERDURE_THINKER",
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        _check(url, variable)
        self.url = base_url(url)
        self.slots = Slots(slots, clock)
        self._model = model or None
        self._dialect = dialect
        self._clock = clock
        self._limits = limits or EndpointLimits()
        self._variable = variable
        key = key.strip() if key else None
        if key and not (key.isascii() and key.isprintable()):
            raise ConfigurationError(f"{variable}_KEY holds characters that no key has.")
        self._secrets = (key,) if key else ()
        self._chance, self._sleep = chance, sleep
        self._connection = Connection(self.url, key, clock, self._limits.connect, self._limits.stall)
        self._sighting: Sighting | None = None
        self._learned = Learned()
        self._forms: dict[type[BaseModel], Form] = {}
        self._proven: set[tuple[type[BaseModel], Form]] = set()
        self._breaker = circuit.Breaker()
        self._last_failure = ""
        self._settling: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, model={self._model!r}, slots={self.slots.count})"

    @property
    def model(self) -> str:
        """Name of the model, as it is stored with what it wrote; `unnamed` before a server without one was asked."""
        name = self._chosen() or "unnamed"
        return (name.replace("\\", "/").rpartition("/")[2] if name.endswith(".gguf") else name)[:_MODEL_CHARS]

    @property
    def dialect(self) -> Dialect | None:
        """As set or found out; None while nobody has asked."""
        return self._dialect or (self._sighting.dialect if self._sighting else None)

    @property
    def breaker(self) -> circuit.State:
        return circuit.state(self._breaker, self._clock.monotonic())

    @property
    def last_failure(self) -> str:
        """Why the last failed call failed; empty after a success."""
        return self._last_failure

    async def complete(self, prompt: Prompt, call: Call, said: Sequence[Said] = ()) -> Reply:
        return await self._run(_Asked(_messages(prompt, said), thinking=True, schema=None), call)

    async def complete_no_think(self, prompt: Prompt, call: Call, said: Sequence[Said] = ()) -> Reply:
        return await self._run(_Asked(_messages(prompt, said), thinking=False, schema=None), call)

    async def complete_with_grammar(
        self, prompt: Prompt, schema: type[BaseModel], call: Call, said: Sequence[Said] = ()
    ) -> Reply:
        return await self._run(_Asked(_messages(prompt, said), thinking=False, schema=schema), call)

    async def look(self) -> Sighting:
        """What the server shows of itself now, without a completion; raises ModelUnavailable."""
        try:
            sighting = await detect(self.url, self._peek)
        except (Unreachable, Dropped) as error:
            raise self._unavailable(error.reason) from None
        self._sighting = sighting
        return sighting

    async def close(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.gather(self._settling, return_exceptions=True)
        await self._connection.close()

    async def _run(self, asked: _Asked, call: Call) -> Reply:
        attempts = self._limits.live_attempts if call.live else self._limits.attempts
        whole = call.until - self._clock.monotonic()
        self._stop_while_resting()
        attempt = 1
        for _ in range(attempts + _ADAPTATIONS):
            outcome = await self._turn(asked, call, whole, last=attempt >= attempts)
            if isinstance(outcome, Reply):
                return outcome
            if isinstance(outcome, _Setback):
                wait = outcome.wait if outcome.wait is not None else self._backoff(attempt)
                # The slot is free while we wait: a busy server must not keep a live turn out.
                if attempt >= attempts or outcome.permit.probe or wait > call.until - self._clock.monotonic():
                    count = f" ({attempt} of {attempts} attempts)" if attempt > 1 else ""
                    self._fail(outcome.permit, f"{outcome.reason}{count}")
                attempt += 1
                await self._sleep(wait)
        raise ModelFailed(f"The model at {self.url} refused every way in which it was asked.")

    async def _turn(self, asked: _Asked, call: Call, whole: float, *, last: bool) -> Reply | _Adapted | _Setback:
        """One request in a slot, with what it says about the server."""
        async with self._slot(call):
            permit = self._admit()
            try:
                outcome = await self._request(asked, call, whole, permit)
                if isinstance(outcome, _Setback) and outcome.dropped and (last or permit.probe):
                    outcome = _Doubt(outcome.reason)
                if isinstance(outcome, _Doubt):
                    await self._settle(outcome, call, permit)
            finally:
                self._breaker = circuit.given_back(self._breaker, permit)
            return outcome

    @asynccontextmanager
    async def _slot(self, call: Call) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(max(0.0, call.until - self._clock.monotonic())):
                    await held.enter_async_context(self.slots.hold(live=call.live))
            except TimeoutError:
                raise ModelUnavailable(
                    f"All {self.slots.count} slots of the model at {self.url} were busy until the deadline.",
                    hint=f"Raise {self._variable}_SLOTS if the server works on more at a time.",
                ) from None
            yield

    async def _request(
        self, asked: _Asked, call: Call, whole: float, permit: circuit.Permit
    ) -> Reply | _Adapted | _Setback | _Doubt:
        began = self._clock.monotonic()
        completion = Completion()
        ok = reached = False
        try:
            async with asyncio.timeout(max(0.0, call.until - began)):
                body, form = await self._body(asked, call)
                reached = True
                await self._connection.ask(body, completion)
            reply = self._reply(completion, asked)
            ok = True
        except TimeoutError:
            took = self._clock.monotonic() - began
            reason = f"did not answer within {took:.3g} s"
            return _Doubt(reason, completion.text, timed_out=True, short=took < whole / 2)
        except Unreachable as error:
            return _Setback(error.reason, permit)
        except Dropped as error:
            return _Setback(error.reason, permit, dropped=True)
        except Refused as error:
            return self._refused(error, body, form, asked, permit)
        except Broken as error:
            return _Doubt(error.reason, error.raw)
        finally:
            use = self._use(call, asked, completion, ok=ok, reached=reached, began=began)
            call.ledger.record(use)
        self._succeed()
        if asked.schema is not None:
            self._proven.add((asked.schema, form))
        return reply

    async def _body(self, asked: _Asked, call: Call) -> tuple[dict[str, Any], Form]:
        sighting = await self._seen()
        form = Form.PLAIN
        if asked.schema is not None:
            form = self._forms.get(asked.schema) or first_form(sighting.dialect, self.url)
        body = compose(
            sighting.dialect,
            self.url,
            self._chosen(),
            asked.messages,
            thinking=asked.thinking,
            stream=asked.thinking,
            max_tokens=call.max_tokens,
            schema=asked.schema,
            form=form,
            learned=self._learned,
        )
        return body, form

    async def _seen(self) -> Sighting:
        if self._sighting is not None:
            return self._sighting
        if self._dialect is not None and self._model is not None:
            return Sighting(self._dialect, (), certain=True)
        sighting = await detect(self.url, self._peek)
        if sighting.certain:
            self._sighting = sighting
        if self._dialect is not None:
            return Sighting(self._dialect, sighting.models, sighting.certain)
        return sighting

    async def _peek(self, url: str) -> Any:
        return await self._connection.peek(url, self._limits.peek)

    def _chosen(self) -> str | None:
        """The model to name: as set, or what a server of one model lists."""
        if self._model or self._sighting is None:
            return self._model
        models = self._sighting.models
        single = len(models) == 1 or self.dialect in (Dialect.LLAMACPP, Dialect.VLLM)
        return models[0] if models and single else None

    def _reply(self, completion: Completion, asked: _Asked) -> Reply:
        """What may be taken for the answer; raises ModelFailed for what may not."""
        raw = completion.text
        answer, inside = split_reasoning(raw)
        reasoning = "\n".join(part for part in ("".join(completion.reasoning), inside) if part)
        finish = completion.finish_reason or "stop"
        if completion.refusal or finish in _WITHHELD:
            self._answered_badly("withheld its answer", completion.refusal or raw)
        if finish in _TRUNCATED:
            self._answered_badly(
                "ran out of tokens before its answer was complete",
                raw or reasoning,
                "If this is common, the model's context is too small or it thinks when told not to.",
            )
        if not answer:
            self._answered_badly(
                "only thought, and gave no answer" if reasoning else "gave an empty answer", raw or reasoning
            )
        prompt_tokens, completion_tokens = self._tokens(completion, asked)
        return Reply(answer, reasoning, prompt_tokens, completion_tokens, finish)

    def _answered_badly(self, reason: str, raw: str, hint: str | None = None) -> NoReturn:
        self._succeed()
        raise ModelFailed(f"The model {self.model} {reason}.", answer=raw, hint=hint)

    def _refused(
        self, error: Refused, body: dict[str, Any], form: Form, asked: _Asked, permit: circuit.Permit
    ) -> _Adapted | _Setback | _Doubt:
        refusal = error.refusal
        status, reason = refusal.status, f"answered HTTP {refusal.status}"
        said = shown_reason(refusal, self._secrets, tuple(message["content"] for message in asked.messages))
        if status in _REFUSED_KEY:
            self._fail(permit, f"{reason}: it refused the key", f"Set {self._variable}_KEY to a key that it accepts.")
        if status == _PAY or refusal.code == "insufficient_quota":
            self._fail(permit, f"{reason}: its credit is used up{said}", "Top up the account behind the key.")
        if status in (400, 404, 422) and refusal.no_such_model:
            self._fail(permit, f"{reason}: it has no such model{said}", self._which_model())
        if status in _ELSEWHERE:
            self._fail(
                permit, f"{reason}{said}", f"Check {self._variable}_URL; it is the part before /chat/completions."
            )
        if status in _WORTH_REPEATING:
            return _Setback(f"{reason}{said}", permit, error.retry_after)
        if self._adapt(refusal, body, form, asked):
            return _Adapted()
        if status >= _SERVER_ERRORS:
            return _Doubt(f"{reason}{said}", refusal.all)
        self._succeed()
        raise ModelFailed(f"The model at {self.url} {reason}{said}.", answer=refusal.all)

    def _adapt(self, refusal: Refusal, body: dict[str, Any], form: Form, asked: _Asked) -> bool:
        """Remember what the server doesn't want; False if that leaves nothing to change."""
        learned = learn(refusal, body, self._learned)
        if learned != self._learned:
            self._learned = learned
            return True
        if asked.schema is None:
            return False
        weaker = weaker_form(refusal, form, proven=(asked.schema, form) in self._proven)
        if weaker is None:
            # Not even a plain request did: the form was not what it minded.
            if (asked.schema, form) not in self._proven:
                self._forms.pop(asked.schema, None)
            return False
        self._forms[asked.schema] = weaker
        return True

    def _which_model(self) -> str:
        models = self._sighting.models if self._sighting else ()
        known = f" to one of {', '.join(models[:_NAMED_MODELS])}" if models else " to a model that the server has"
        return f"Set {self._variable}_MODEL{known}."

    async def _settle(self, doubt: _Doubt, call: Call, permit: circuit.Permit) -> NoReturn:
        """Find out whose fault it was, and raise accordingly."""
        if call.live:
            # A turn doesn't wait for the verdict; the breaker gets it later.
            if self._settling is None or self._settling.done():
                self._settling = asyncio.create_task(self._settle_later(doubt.reason, permit))
            if doubt.timed_out:
                raise self._unavailable(doubt.reason)
            raise ModelFailed(f"The model at {self.url} {doubt.reason}.", answer=doubt.answer)
        if not await self._alive():
            self._fail(permit, doubt.reason)
        self._succeed()
        if doubt.short:
            raise self._unavailable(f"{doubt.reason}, most of its time having gone into waiting")
        raise ModelFailed(
            f"The model at {self.url} {doubt.reason}, though it answers a short question.",
            answer=doubt.answer,
            hint="If it is merely slow, raise PERDURE_MODEL_PATIENCE." if doubt.timed_out else None,
        )

    async def _settle_later(self, reason: str, permit: circuit.Permit) -> None:
        async with self.slots.hold(live=False):
            if await self._alive():
                self._succeed()
            else:
                self._note(permit, reason)

    async def _alive(self) -> bool:
        """Whether the server answers a tiny request in time, whatever it answers."""
        completion = Completion()
        try:
            async with asyncio.timeout(self._limits.probe):
                dialect = self.dialect or Dialect.OPENAI
                body = compose(
                    dialect,
                    self.url,
                    self._chosen(),
                    _HELLO,
                    thinking=False,
                    stream=False,
                    max_tokens=8,
                    schema=None,
                    form=Form.PLAIN,
                    learned=self._learned,
                )
                await self._connection.ask(body, completion)
        except Refused as error:
            return error.refusal.status < _SERVER_ERRORS and error.refusal.status not in _WORTH_REPEATING
        except (TimeoutError, Unreachable, Dropped, Broken):
            return False
        return True

    def _stop_while_resting(self) -> None:
        wait = circuit.wait_s(self._breaker, self._clock.monotonic())
        if wait > 0:
            raise ModelUnavailable(
                f"The model at {self.url} is left alone for another {wait:.0f} s after failures; "
                f"the last time it {self._last_failure or 'failed'}.",
                hint="`perdure doctor` says whether it answers.",
            )

    def _admit(self) -> circuit.Permit:
        self._breaker, permit = circuit.admit(self._breaker, self._clock.monotonic())
        if permit is None:
            self._stop_while_resting()
            raise self._unavailable("is being tried by another call")
        return permit

    def _succeed(self) -> None:
        self._breaker = circuit.succeeded(self._breaker)
        self._last_failure = ""

    def _note(self, permit: circuit.Permit, reason: str) -> None:
        self._breaker = circuit.failed(self._breaker, permit, self._clock.monotonic())
        self._last_failure = reason

    def _fail(self, permit: circuit.Permit, reason: str, hint: str | None = None) -> NoReturn:
        self._note(permit, reason)
        raise self._unavailable(reason, hint)

    def _unavailable(self, reason: str, hint: str | None = None) -> ModelUnavailable:
        hint = hint or f"Check that the server runs and that {self._variable}_URL is right."
        return ModelUnavailable(f"The model at {self.url} {reason}.", hint=hint)

    def _backoff(self, attempt: int) -> float:
        longest = min(self._limits.longest_backoff, self._limits.first_backoff * 2 ** (attempt - 1))
        return float(longest * (1 - 0.5 * self._chance()))

    def _use(
        self, call: Call, asked: _Asked, completion: Completion, *, ok: bool, reached: bool, began: float
    ) -> ModelUse:
        prompt_tokens, completion_tokens = self._tokens(completion, asked) if reached else (0, 0)
        return ModelUse(
            call.site,
            call.role,
            self.model,
            ok,
            prompt_tokens,
            completion_tokens,
            (self._clock.monotonic() - began) * 1000,
            call.live,
        )

    @staticmethod
    def _tokens(completion: Completion, asked: _Asked) -> tuple[int, int]:
        written = completion.text + "".join(completion.reasoning)
        return (
            estimated_tokens(asked.length) if completion.prompt_tokens is None else completion.prompt_tokens,
            estimated_tokens(written) if completion.completion_tokens is None else completion.completion_tokens,
        )


def _messages(prompt: Prompt, said: Sequence[Said]) -> tuple[dict[str, str], ...]:
    turns = [("system", prompt.system), ("user", prompt.user), *((one.role, one.text) for one in said)]
    # Half a surrogate pair can't be sent.
    return tuple({"role": role, "content": text.encode("utf-8", "replace").decode()} for role, text in turns if text)


def _check(url: str, variable: str) -> None:
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable, parts = False, urlsplit("")
    if not usable:
        raise ConfigurationError(f"{variable}_URL is no URL.", hint="Write it as http://host:port/v1.")
    if parts.username or parts.password or parts.query:
        raise ConfigurationError(
            f"{variable}_URL holds a user, a password or a query.", hint=f"Put the key into {variable}_KEY."
        )
