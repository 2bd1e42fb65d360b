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

from pydantic import BaseModel

from perdure.clock import Clock
from perdure.errors import ConfigurationError, ModelFailed, ModelUnavailable
from perdure.llm.connection import Connection, Dropped, Refused, Unreachable
from perdure.llm.dialects import Dialect, Form, Peek, Sighting, base_url
from perdure.llm.health import Health
from perdure.llm.manner import Asked, Manner
from perdure.llm.port import Call, Reply, Said
from perdure.llm.refusals import shown_reason
from perdure.llm.replies import KEPT_CHARS, count_tokens, read_reply
from perdure.llm.slots import Slots
from perdure.llm.usage import ModelUse
from perdure.llm.wire import Broken, Completion
from perdure.remote import address_parts, may_hold_secrets, usable_key
from perdure.rules.breaker import Permit, State

if TYPE_CHECKING:
    from perdure.llm.prompting import Prompt

_WORTH_REPEATING: Final = frozenset({408, 425, 429, 502, 503, 504, 529})
_REFUSED_KEY: Final = frozenset({401, 403})
_ELSEWHERE: Final = frozenset({301, 302, 307, 308, 404, 405, 410})
_ABOUT_THE_MODEL: Final = frozenset({400, 404, 422})
_PAY: Final = 402
_SERVER_ERRORS: Final = 500
_ADAPTATIONS: Final = 12
_DOCTOR: Final = "`perdure doctor` says whether it answers."


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


class _Adapted:
    """The server refused a parameter; it is left out from now on."""


@dataclass(frozen=True, slots=True)
class _Setback:
    """A failure that may pass: why, how long the server asks to wait, and whether it fell silent on this request."""

    reason: str
    permit: Permit
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
        self._clock = clock
        self._limits = limits or EndpointLimits()
        self._variable = variable
        key = usable_key(key, f"{variable}_KEY")
        self._secrets = (key,) if key else ()
        self._chance, self._sleep = chance, sleep
        self._connection = Connection(self.url, key, clock, self._limits.connect, self._limits.stall)
        self._manner = Manner(self.url, model, dialect, self._peek)
        self._health = Health(clock)
        self._settling: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, model={self.model!r}, slots={self.slots.count})"

    @property
    def model(self) -> str:
        """Name of the model, as it is stored with what it wrote; `unnamed` before a server without one was asked."""
        return self._manner.signature

    @property
    def dialect(self) -> Dialect | None:
        """As set or found out; None while nobody has asked."""
        return self._manner.dialect

    @property
    def breaker(self) -> State:
        return self._health.state

    @property
    def last_failure(self) -> str:
        """Why the last failed call failed; empty after a success."""
        return self._health.last_failure

    async def complete(self, prompt: Prompt, call: Call, said: Sequence[Said] = ()) -> Reply:
        return await self._run(Asked(_messages(prompt, said), thinking=True), call)

    async def complete_no_think(self, prompt: Prompt, call: Call, said: Sequence[Said] = ()) -> Reply:
        return await self._run(Asked(_messages(prompt, said)), call)

    async def complete_with_grammar(
        self, prompt: Prompt, schema: type[BaseModel], call: Call, said: Sequence[Said] = ()
    ) -> Reply:
        return await self._run(Asked(_messages(prompt, said), schema=schema), call)

    async def look(self) -> Sighting:
        """What the server shows of itself now, without a completion; raises ModelUnavailable."""
        try:
            sighting = await self._manner.look()
        except (Unreachable, Dropped) as error:
            raise self._unavailable(error.reason) from None
        if sighting.status in _REFUSED_KEY:
            raise self._unavailable(*self._key_refused(sighting.status))
        if sighting.status >= _SERVER_ERRORS or sighting.status in _WORTH_REPEATING:
            raise self._unavailable(f"is not ready (HTTP {sighting.status})")
        if self._manner.missing_model():
            hint = f"Set {self._variable}_MODEL {self._manner.models_to_set()}."
            raise self._unavailable(f"has no model {self.model}", hint)
        return sighting

    async def close(self) -> None:
        """Close the connections; a call after that is unavailable."""
        settling = self._settling
        if settling is not None and settling.get_loop() is asyncio.get_running_loop():
            settling.cancel()
            await asyncio.gather(settling, return_exceptions=True)
        await self._connection.close()

    async def _run(self, asked: Asked, call: Call) -> Reply:
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
        raise self._failed("refused every way in which it was asked", "")

    async def _turn(self, asked: Asked, call: Call, whole: float, *, last: bool) -> Reply | _Adapted | _Setback:
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
                self._health.end(permit)
            return outcome

    @asynccontextmanager
    async def _slot(self, call: Call) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            began = self._clock.monotonic()
            try:
                async with asyncio.timeout(max(0.0, call.until - began) if call.live else None):
                    await held.enter_async_context(self.slots.hold(live=call.live))
            except TimeoutError:
                raise ModelUnavailable(
                    f"All {self.slots.count} slots of the model at {self.url} were busy until the deadline.",
                    hint=f"Raise {self._variable}_SLOTS if the server works on more at a time.",
                ) from None
            if not call.live:
                call.until += self._clock.monotonic() - began
            yield

    async def _request(
        self, asked: Asked, call: Call, whole: float, permit: Permit
    ) -> Reply | _Adapted | _Setback | _Doubt:
        began = self._clock.monotonic()
        completion = Completion()
        ok = worked = False
        try:
            async with asyncio.timeout(max(0.0, call.until - began)):
                body, form = await self._manner.body(asked, call.max_tokens)
                worked = True
                await self._connection.ask(body, completion)
            reply = read_reply(completion, self.model, asked.text)
            ok = True
        except ModelFailed:
            self._health.succeeded()
            raise
        except TimeoutError:
            took = self._clock.monotonic() - began
            reason = f"did not answer within {took:.3g} s"
            return _Doubt(reason, completion.text, timed_out=True, short=took < whole / 2)
        except Unreachable as error:
            worked = False
            return _Setback(error.reason, permit, dropped=isinstance(error, Dropped))
        except Refused as error:
            worked = False
            return self._refused(error, body, form, asked, permit)
        except Broken as error:
            return _Doubt(error.reason, error.raw)
        finally:
            tokens = count_tokens(completion, asked.text) if worked else (0, 0)
            took_ms = (self._clock.monotonic() - began) * 1000
            call.ledger.record(ModelUse(call.site, call.role, self.model, ok, *tokens, took_ms, call.live))
        self._health.succeeded()
        self._manner.worked(asked, form)
        return reply

    async def _peek(self, url: str) -> Peek:
        return await self._connection.peek(url, self._limits.peek)

    def _refused(
        self, error: Refused, body: dict[str, Any], form: Form, asked: Asked, permit: Permit
    ) -> _Adapted | _Setback | _Doubt:
        refusal = error.refusal
        status, reason = refusal.status, f"answered HTTP {refusal.status}"
        said = shown_reason(refusal, self._secrets, tuple(message["content"] for message in asked.messages))
        if status in _REFUSED_KEY:
            self._fail(permit, *self._key_refused(status))
        if status == _PAY or refusal.code == "insufficient_quota":
            self._fail(permit, f"{reason}: its credit is used up{said}", "Top up the account behind the key.")
        if status in _ABOUT_THE_MODEL and refusal.no_such_model:
            hint = f"Set {self._variable}_MODEL {self._manner.models_to_set()}."
            self._fail(permit, f"{reason}: it has no such model{said}", hint)
        if status in _ELSEWHERE:
            hint = f"Check {self._variable}_URL; it is the part before /chat/completions."
            self._fail(permit, f"{reason}{said}", hint)
        if status in _WORTH_REPEATING:
            return _Setback(f"{reason}{said}", permit, error.retry_after)
        if self._manner.adapt(refusal, body, form, asked):
            return _Adapted()
        if status >= _SERVER_ERRORS:
            return _Doubt(f"{reason}{said}", refusal.all)
        self._health.succeeded()
        raise self._failed(f"{reason}{said}", refusal.all)

    def _key_refused(self, status: int) -> tuple[str, str]:
        return f"refused the key (HTTP {status})", f"Set {self._variable}_KEY to a key that it accepts."

    async def _settle(self, doubt: _Doubt, call: Call, permit: Permit) -> NoReturn:
        """Find out whose fault it was, and raise accordingly."""
        if call.live:
            # A turn doesn't wait for the verdict; the breaker gets it later.
            if self._settling is None or self._settling.done():
                self._settling = asyncio.create_task(self._settle_later(doubt.reason, permit))
            if doubt.timed_out:
                raise self._unavailable(doubt.reason)
            raise self._failed(doubt.reason, doubt.answer)
        if not await self._alive():
            self._fail(permit, doubt.reason)
        self._health.succeeded()
        if doubt.short:
            raise self._unavailable(f"{doubt.reason}, most of its time having gone into waiting")
        hint = "If it is merely slow, raise PERDURE_MODEL_PATIENCE." if doubt.timed_out else None
        raise self._failed(f"{doubt.reason}, though it answers a short question", doubt.answer, hint)

    async def _settle_later(self, reason: str, permit: Permit) -> None:
        async with self.slots.hold(live=False):
            if await self._alive():
                self._health.succeeded()
            else:
                self._health.failed(permit, reason)

    async def _alive(self) -> bool:
        """Whether the server answers a tiny request in time, whatever it answers."""
        completion = Completion()
        try:
            async with asyncio.timeout(self._limits.probe):
                await self._connection.ask(self._manner.hello(), completion)
        except Refused as error:
            return error.refusal.status < _SERVER_ERRORS and error.refusal.status not in _WORTH_REPEATING
        except (TimeoutError, Unreachable, Dropped, Broken):
            return False
        return True

    def _stop_while_resting(self) -> None:
        if reason := self._health.resting():
            raise self._unavailable(reason, _DOCTOR)

    def _admit(self) -> Permit:
        permit = self._health.admit()
        if permit is None:
            raise self._unavailable(self._health.resting(), _DOCTOR)
        return permit

    def _fail(self, permit: Permit, reason: str, hint: str | None = None) -> NoReturn:
        self._health.failed(permit, reason)
        raise self._unavailable(reason, hint)

    def _failed(self, reason: str, answer: str, hint: str | None = None) -> ModelFailed:
        return ModelFailed(f"The model at {self.url} {reason}.", answer=answer[:KEPT_CHARS], hint=hint)

    def _unavailable(self, reason: str, hint: str | None = None) -> ModelUnavailable:
        hint = hint or f"Check that the server runs and that {self._variable}_URL is right."
        return ModelUnavailable(f"The model at {self.url} {reason}.", hint=hint)

    def _backoff(self, attempt: int) -> float:
        longest = min(self._limits.longest_backoff, self._limits.first_backoff * 2 ** (attempt - 1))
        return float(longest * (1 - 0.5 * self._chance()))


def _messages(prompt: Prompt, said: Sequence[Said]) -> tuple[dict[str, str], ...]:
    turns = [("system", prompt.system), ("user", prompt.user), *((one.role, one.text) for one in said)]
    # Half a surrogate pair can't be sent.
    return tuple({"role": role, "content": text.encode("utf-8", "replace").decode()} for role, text in turns if text)


def _check(url: str, variable: str) -> None:
    parts = address_parts(url.strip())
    if parts is None:
        raise ConfigurationError(f"{variable}_URL is no URL.", hint="Write it as http://host:port/v1.")
    if may_hold_secrets(parts):
        raise ConfigurationError(
            f"{variable}_URL holds a user, a password or a query.", hint=f"Put the key into {variable}_KEY."
        )
