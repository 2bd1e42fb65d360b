"""Who answers a call site: the two roles, their endpoints, and answers that are validated before anybody sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from pydantic import BaseModel, SecretStr

from perdure.clock import Clock, DatabaseClock
from perdure.errors import ModelFailed, ModelUnavailable
from perdure.llm.answers import Unfit, read_answer, repair_request
from perdure.llm.call_sites import CALL_SITES, CallSite, Mode, Role
from perdure.llm.dialects import Dialect, base_url
from perdure.llm.endpoint import Endpoint
from perdure.llm.port import Call, LanguageModel, Reply, Said
from perdure.llm.reranking import RerankEndpoint
from perdure.llm.usage import Ledger

if TYPE_CHECKING:
    from perdure.llm.prompting import Prompt
    from perdure.settings import Settings

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

LOOK_S: Final = 3.0
"""How long `roles` waits for servers."""
_REPEATED_CHARS: Final = 8000

FEATURES: Final[Mapping[str, str]] = {
    "triage": "triage",
    "quality": "quality scoring",
    "contradiction": "contradiction checks",
    "entities": "entity extraction",
    "distillation": "distillation of the archive",
    "bootstrap": "a profile from a text",
    "transition": "transitions",
    "usefulness": "verdicts on what memories were good for",
    "consolidation": "the identity card and traits",
    "episode": "episodes",
    "reflection": "reflection",
    "consult_deep_thinker": "deep thinking",
    "rewrite": "other ways to ask in searches",
    "rerank": "the last look at the hits of searches",
}
"""What a person misses when nobody can be asked at a call site."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A validated `value`; `made_by` (prompt, version, model) is stored with it; `text` is the raw answer."""

    value: T
    made_by: str
    text: str


@dataclass(frozen=True, slots=True)
class RoleState:
    """One role as `perdure doctor` tells it. `url` is None where the role isn't configured; `problem` says what to do.

    `gives` are the call sites that this role answers now, as the first choice or in place of the other.
    """

    role: Role
    url: str | None
    model: str | None
    dialect: str | None
    slots: int
    reachable: bool
    breaker: str
    gives: tuple[str, ...]
    problem: str = ""


class Models:
    """The language models of one Memory: none, one or two roles; two roles may share one endpoint."""

    def __init__(
        self,
        endpoints: Mapping[Role, Endpoint] | None = None,
        clock: Clock | None = None,
        *,
        patience: float = 1.0,
        reranker: RerankEndpoint | None = None,
    ) -> None:
        """`patience` multiplies the deadlines of background calls, for machines that are slow.

        A `reranker` puts the hits of searches in order, in place of the subagent.
        """
        self.reranker = reranker
        self._endpoints = dict(endpoints or {})
        self._clock = clock or DatabaseClock()
        self._patience = patience

    @classmethod
    def none(cls) -> Models:
        """No model at all: every feature that needs one is off."""
        return cls()

    @classmethod
    def from_settings(cls, settings: Settings, clock: Clock) -> Models:
        """The roles that have a URL; raises ConfigurationError for one that is no URL."""
        endpoints: dict[Role, Endpoint] = {}
        asked = [_Asked.of(settings, role) for role in Role]
        for one in asked:
            if one.url is None:
                continue
            same = [other for other in asked if other.identity == one.identity]
            first = same[0]
            if first is not one:
                endpoints[one.role] = endpoints[first.role]
                continue
            endpoints[one.role] = Endpoint(
                one.url,
                clock=clock,
                model=one.model,
                key=one.key.get_secret_value() if one.key else None,
                slots=max(other.slots for other in same),
                dialect=None if one.dialect == "auto" else Dialect(one.dialect),
                variable=f"PERDURE_{one.role.upper()}",
            )
        reranker = None
        if settings.reranker_url:
            key = settings.reranker_key.get_secret_value() if settings.reranker_key else None
            reranker = RerankEndpoint(settings.reranker_url, clock=clock, model=settings.reranker_model, key=key)
        return cls(endpoints, clock, patience=settings.model_patience, reranker=reranker)

    def can(self, site: str) -> bool:
        """Whether a role is configured that answers `site`; it may still be down."""
        return bool(self._asked_at(CALL_SITES[site]))

    def slots(self, site: str) -> int:
        """How many requests of `site` the role asked first takes at a time; 0 where none is configured."""
        roles = self._asked_at(CALL_SITES[site])
        return self._endpoints[roles[0]].slots.count if roles else 0

    def off(self) -> tuple[str, ...]:
        """The features that are off because no role for them is configured."""
        done = {"rerank"} if self.reranker is not None else set()
        return tuple(feature for site, feature in FEATURES.items() if not self.can(site) and site not in done)

    async def ask(
        self,
        site: str,
        prompt: Prompt,
        schema: type[M],
        *,
        ledger: Ledger,
        live: bool = False,
        deadline_s: float | None = None,
    ) -> Answer[M]:
        """A validated answer to `prompt`.

        An answer that doesn't fit is shown to the model once, with what is wrong about it.

        Args:
            site: a name of CALL_SITES; says who is asked, in which mode and for how long.
            prompt: what `render` made.
            schema: what the answer has to be.
            ledger: is told of every request, failed ones too.
            live: a turn waits for the answer: it goes before background work and is repeated less.
            deadline_s: seconds in all, where a turn waits including the wait for a slot; None is the call site's own.

        Raises:
            ModelUnavailable: nobody could be asked: the work waits, no attempt is used up.
            ModelFailed: the answer can't be used; `.answer` is what was said.
        """

        async def answered(endpoint: Endpoint, call: Call) -> Answer[M]:
            reply = await _say(endpoint, CALL_SITES[site].mode, prompt, schema, call)
            try:
                return Answer(read_answer(reply.text, schema), prompt.made_by(endpoint.model), reply.text)
            except Unfit as unfit:
                shown = reply.text[:_REPEATED_CHARS]
                said = (Said("assistant", shown), Said("user", repair_request(unfit.complaint)))
            reply = await _say(endpoint, CALL_SITES[site].mode, prompt, schema, call, *said)
            try:
                return Answer(read_answer(reply.text, schema), prompt.made_by(endpoint.model), reply.text)
            except Unfit as unfit:
                raise ModelFailed(
                    f"The model {endpoint.model} answered twice with something that is no {schema.__name__}: "
                    f"{unfit.complaint}",
                    answer=reply.text,
                ) from None

        return await self._first_available(site, ledger, live=live, deadline_s=deadline_s, answered=answered)

    async def write(
        self, site: str, prompt: Prompt, *, ledger: Ledger, live: bool = False, deadline_s: float | None = None
    ) -> Answer[str]:
        """Free text in answer to `prompt`; else the arguments and errors of `ask`."""

        async def answered(endpoint: Endpoint, call: Call) -> Answer[str]:
            reply = await _say(endpoint, CALL_SITES[site].mode, prompt, None, call)
            return Answer(reply.text, prompt.made_by(endpoint.model), reply.text)

        return await self._first_available(site, ledger, live=live, deadline_s=deadline_s, answered=answered)

    async def roles(self) -> tuple[RoleState, ...]:
        """Both roles as they are now; looks at the servers for at most `LOOK_S` and raises nothing."""
        looked = {id(endpoint): endpoint for endpoint in self._endpoints.values()}
        problems = dict(zip(looked, await asyncio.gather(*map(_look, looked.values())), strict=True))
        return tuple(self._state(role, problems) for role in Role)

    async def close(self) -> None:
        """Close all connections; waits for nothing."""
        for endpoint in {id(endpoint): endpoint for endpoint in self._endpoints.values()}.values():
            await endpoint.close()
        if self.reranker is not None:
            await self.reranker.close()

    def _state(self, role: Role, problems: Mapping[int, str]) -> RoleState:
        gives = tuple(site.name for site in CALL_SITES.values() if role in self._asked_at(site)[:1])
        endpoint = self._endpoints.get(role)
        if endpoint is None:
            return RoleState(role, None, None, None, 0, reachable=False, breaker="closed", gives=gives)
        problem = problems[id(endpoint)]
        return RoleState(
            role,
            endpoint.url,
            endpoint.model,
            endpoint.dialect.value if endpoint.dialect else None,
            endpoint.slots.count,
            reachable=not problem,
            breaker=endpoint.breaker,
            gives=gives,
            problem=problem or endpoint.last_failure,
        )

    def _asked_at(self, site: CallSite) -> list[Role]:
        wanted = [site.role] if site.fallback is None else [site.role, site.fallback]
        return [role for role in wanted if role in self._endpoints]

    async def _first_available(
        self,
        site: str,
        ledger: Ledger,
        *,
        live: bool,
        deadline_s: float | None,
        answered: Callable[[Endpoint, Call], Awaitable[T]],
    ) -> T:
        row = CALL_SITES[site]
        asked: set[int] = set()
        down: ModelUnavailable | None = None
        seconds = deadline_s or row.deadline_s * (1.0 if live else self._patience)
        until = self._clock.monotonic() + seconds
        for role in self._asked_at(row):
            endpoint = self._endpoints[role]
            if id(endpoint) in asked:
                continue
            asked.add(id(endpoint))
            # A turn has one deadline whoever is asked; background work gives the second role its full time.
            until = until if live else self._clock.monotonic() + seconds
            call = Call(site, role, ledger, until, row.max_tokens, live)
            try:
                return await answered(endpoint, call)
            except ModelUnavailable as error:
                down = down or error
            if live and self._clock.monotonic() >= until:
                break
        if down is not None:
            raise down
        variable = f"PERDURE_{row.role.upper()}_URL"
        raise ModelUnavailable(
            f"No language model is configured for {site}.", hint=f"Set {variable}; docs/models.md shows how."
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """One role's settings."""

    role: Role
    url: str | None
    model: str | None
    key: SecretStr | None
    slots: int
    dialect: str

    @classmethod
    def of(cls, settings: Settings, role: Role) -> _Asked:
        names = ("url", "model", "key", "slots", "dialect")
        return cls(role, *(getattr(settings, f"{role}_{name}") for name in names))

    @property
    def identity(self) -> tuple[str | None, str | None, str | None]:
        key = self.key.get_secret_value() if self.key else None
        return base_url(self.url) if self.url else None, self.model, key


async def _say(
    model: LanguageModel,
    mode: Mode,
    prompt: Prompt,
    schema: type[BaseModel] | None,
    call: Call,
    *said: Said,
) -> Reply:
    if mode is Mode.COMPLETE:
        return await model.complete(prompt, call, said)
    if mode is Mode.COMPLETE_NO_THINK or schema is None:
        return await model.complete_no_think(prompt, call, said)
    return await model.complete_with_grammar(prompt, schema, call, said)


async def _look(endpoint: Endpoint) -> str:
    """What is wrong with a server now; empty if it shows itself."""
    try:
        async with asyncio.timeout(LOOK_S):
            await endpoint.look()
    except TimeoutError:
        return f"did not answer within {LOOK_S:g} s"
    except ModelUnavailable as error:
        return str(error)
    return ""
