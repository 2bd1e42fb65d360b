"""Every knob, typed, with its default and its environment name.

A setting `max_chunk_bytes` is read from PERDURE_MAX_CHUNK_BYTES; names that the mission gives (MAX_CHUNK_BYTES) are
read without the prefix too. Arguments of `Memory.open` win over the environment.
"""

from __future__ import annotations

import re
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from perdure.errors import ConfigurationError, shown
from perdure.rules.budget import budget_spent
from perdure.rules.calibration import EPISODE_DEDUP_THRESHOLD
from perdure.rules.dormancy import MAX_PER_SCOPE
from perdure.rules.triggers import COGNITIVE_BUFFER_THRESHOLD, COGNITIVE_CEILING, LULL_DURATION
from perdure.rules.worth_saving import SaveThresholds

PREFIX = "PERDURE_"

ModelDialect = Literal["auto", "llamacpp", "vllm", "ollama", "openai"]


def _none(value: object) -> object:
    return None if value == "none" else value


Budget = Annotated[int | None, Field(ge=0), BeforeValidator(_none)]
"""A limit; `none` is no limit."""


Rate = Annotated[int | None, Field(ge=1), BeforeValidator(_none)]
"""So many a minute; `none` is no limit."""


def _literally(value: object) -> object:
    if isinstance(value, str) and value.lower() not in {"true", "false"}:
        raise ValueError("it has to be true or false")
    return value


OffOnlyByFalse = Annotated[bool, BeforeValidator(_literally)]
"""On, unless it says literally `false`; nothing else is understood as one of the two."""


_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|d)?\s*", re.IGNORECASE)
_SECONDS: Final = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def _duration(value: object) -> object:
    """`20min`, `4h` or a number of seconds as a timedelta; anything else is left to pydantic."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return timedelta(seconds=float(found[1]) * _SECONDS[(found[2] or "s").lower()]) if found else value


Duration = Annotated[timedelta, Field(ge=timedelta(0), le=timedelta(days=366)), BeforeValidator(_duration)]
"""A length of time: `20min`, `4h`, `2d`, or seconds."""

Days = Annotated[float, Field(ge=0, le=36500)]
Salience = Annotated[float, Field(ge=1, le=10)]


class Settings(BaseSettings):
    """All settings. Bad values are a ConfigurationError that names the variable, its value and the limit."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", populate_by_name=True, env_ignore_empty=True
    )

    data_dir: Path | None = None
    """Where the embedded server keeps its data; None is the platform's user data directory."""
    cache_dir: Path | None = None
    """Where prepared model files are cached; None is the platform's user cache directory."""

    database_url: SecretStr | None = None
    """Application role on a server of your own; None starts the embedded server."""
    database_worker_url: SecretStr | None = None
    database_owner_url: SecretStr | None = None
    database_pool_size: int = Field(default=8, ge=1, le=100)
    database_prepare: bool = True
    """False behind a PgBouncer older than 1.21 (docs/sql.md, rule 24)."""
    database_timeout_s: float = Field(default=30.0, gt=0, le=600)

    embedder: str = "local"
    """`local` (bundled), `openai` (an OpenAI-compatible endpoint), `use`, or `fastembed:<model>`."""
    embedder_url: str | None = None
    embedder_model: str | None = None
    embedder_key: SecretStr | None = None
    embedder_dimensions: int | None = Field(default=None, ge=1, le=16000)
    embedder_timeout_s: float = Field(default=10.0, gt=0, le=600)

    thinker_url: str | None = None
    """Base URL of the large model's OpenAI-compatible endpoint; None leaves the role out."""
    thinker_model: str | None = None
    """None takes the model that the server lists."""
    thinker_key: SecretStr | None = None
    thinker_slots: int = Field(default=1, ge=1, le=64)
    """Requests at a time."""
    thinker_dialect: ModelDialect = "auto"
    subagent_url: str | None = None
    """The same for the small model; both roles may name one endpoint, which they then share."""
    subagent_model: str | None = None
    subagent_key: SecretStr | None = None
    subagent_slots: int = Field(default=3, ge=1, le=64)
    subagent_dialect: ModelDialect = "auto"
    reranker_url: str | None = None
    """A server that scores texts (`/v1/rerank`); it orders the hits of searches in place of the subagent."""
    reranker_model: str | None = None
    reranker_key: SecretStr | None = None
    model_patience: float = Field(default=1.0, ge=0.1, le=100)
    """Multiplies the deadlines of background calls (docs/models.md has them)."""
    daily_call_budget: Budget = 2000
    """Background requests per space and day (UTC); work beyond waits for the next day."""
    daily_token_budget: Budget = 2_000_000

    serve_body_bytes: int = Field(default=8 * 1024**2, ge=1024, le=128 * 1024**2)
    """The largest body of a request that `perdure serve` reads."""
    serve_rate: Rate = 3000
    """Requests a minute that one key may make in the long run; `none` is no limit."""
    serve_burst: int = Field(default=300, ge=1, le=100_000)
    """Requests that one key may make at once, after a pause."""
    serve_origins: str | None = None
    """Origins whose pages may call `perdure serve` from a browser, with commas between; none by default."""

    otel_endpoint: str | None = None
    """Where `perdure serve` sends traces (OTLP over HTTP); None: nowhere."""
    log_format: Literal["text", "json"] = "text"
    """Of the log lines of `perdure serve`."""
    proxy_url: str | None = None
    """Base URL of the OpenAI-compatible server that `perdure serve` puts memory in front of; None: no proxy."""
    proxy_key: SecretStr | None = None
    """Its key; None hands on the client's own `Authorization`, unless that was a key of Perdure."""
    proxy_space: str | None = None
    """Whose memory a chat uses that names no space; None refuses it, since it may be anybody's."""
    proxy_timeout_s: float = Field(default=600.0, gt=0, le=86400)
    """How long the model's server may be silent."""

    max_chunk_bytes: int = Field(
        default=1200, ge=64, le=4000, validation_alias=AliasChoices(f"{PREFIX}MAX_CHUNK_BYTES", "MAX_CHUNK_BYTES")
    )
    """Bytes of UTF-8 per memory (mission: 1200)."""

    grounded_salience: Salience = 3
    """Least salience at which an exchange is saved that a tool bears out (mission: 3)."""
    parametric_salience: Salience = 5
    """The same for what the model said by itself (mission: 5)."""
    item_salience: Salience = 1
    """The same for mails and events (mission: 1)."""
    distilled_salience: Salience = 5
    """The same for facts of an archive (mission: 5)."""
    archive_salience: Salience = 3
    """What the text of an archive weighs that nobody could distil (mission: 3)."""
    contradiction_candidates: int = Field(default=3, ge=1, le=20)
    """Nearest memories that a new one is compared with (mission: 3)."""

    ranking_profile: Literal["default", "seed"] = "default"
    """`seed` is the mission's formula to the letter; `default` was chosen by measurement (docs/evaluation.md)."""
    relevance_gate: bool = True
    """False injects the top 3 whatever they are, as the mission has it."""
    recall_deadline_s: float = Field(default=2.0, gt=0, le=60)
    """One deadline for all of `recall` (mission: 2 s)."""
    recall_limit: int = Field(default=3, ge=1, le=20)
    """Memories injected per turn (mission: 3)."""
    recall_token_budget: Budget = 2400
    """Tokens of the tail, by the estimate of `rules.tokens`: three memories of 1200 bytes and two waiting exchanges."""
    search_limit: int = Field(default=10, ge=1, le=100)
    search_deadline_s: float = Field(default=10.0, gt=0, le=300)
    """One deadline for all of a search, its language model included."""

    boost: Literal["daily", "every"] = "daily"
    """`every` retrieval raises salience, as the mission has it; `daily`: the first of a day does, unless useless."""
    memory_decay_enabled: OffOnlyByFalse = Field(
        default=True, validation_alias=AliasChoices(f"{PREFIX}MEMORY_DECAY_ENABLED", "MEMORY_DECAY_ENABLED")
    )
    """False: nothing loses salience or usefulness by time alone (docs/feedback.md)."""

    max_server_memories: int = Field(
        default=MAX_PER_SCOPE,
        ge=1,
        le=10_000,
        validation_alias=AliasChoices(f"{PREFIX}MAX_SERVER_MEMORIES", "MAX_SERVER_MEMORIES"),
    )
    """Facts of one server and lineage (mission: 100)."""
    max_personal_memories: int = Field(
        default=MAX_PER_SCOPE,
        ge=1,
        le=10_000,
        validation_alias=AliasChoices(f"{PREFIX}MAX_PERSONAL_MEMORIES", "MAX_PERSONAL_MEMORIES"),
    )
    """Facts of one person and lineage; what every persona knows is counted by itself (mission: 100)."""
    max_memory_length: int = Field(
        default=1000, ge=1, le=1000, validation_alias=AliasChoices(f"{PREFIX}MAX_MEMORY_LENGTH", "MAX_MEMORY_LENGTH")
    )
    """Characters of one fact (mission: 1000)."""
    fact_vectors: bool = True
    """False: facts are never embedded, so that none is scored, ages, becomes dormant or makes room for another."""
    fact_recall_s: float = Field(default=1.5, gt=0, le=60)
    """For scoring the facts of a turn, the embedding of its query included (mission: 1,500 ms)."""
    process_memory_limit_mb: int | None = Field(default=None, ge=64, le=1_000_000)
    """Memory of this process beyond which facts are not scored until it has less; None is no limit."""
    sample_days: Days = 30
    """Days that samples of turns are kept (mission: 30)."""
    notice_url: str | None = None
    """Where changes of facts are told, by POST; None tells nobody."""
    notice_key: SecretStr | None = None
    notice_timeout_s: float = Field(default=5.0, gt=0, le=60)
    """For one notice; what fails or is late is logged, and nothing else."""
    notice_log: bool = False
    """Whether changes of facts are logged, without what they say."""

    max_document_bytes: int = Field(default=4 * 1024**2, ge=1, le=64 * 1024**2)
    """The largest file that is taken in as a document (mission: 4 MB)."""
    max_documents: int = Field(default=20, ge=1, le=10_000)
    """Documents of one scope: of a server or the whole space, a lineage or all, an audience or everybody."""
    max_document_chunks: int = Field(default=1000, ge=1, le=100_000)
    """Passages of all documents of one scope: every search compares them one by one."""
    document_timeout_s: float = Field(default=60.0, gt=0, le=3600)
    """For the process that reads one PDF."""

    superseded_grace_days: Days = Field(
        default=7, validation_alias=AliasChoices(f"{PREFIX}SUPERSEDED_GRACE_DAYS", "SUPERSEDED_GRACE_DAYS")
    )
    """Days after which what was superseded is pruned (mission: 7)."""
    staleness_days: Days = 90
    """Age in days beyond which what has faded is pruned (mission: 90)."""
    upkeep_interval: Duration = timedelta(hours=1)
    """How often a worker keeps a space up; the result is the same at any cadence."""
    history_days: float | None = Field(default=None, ge=1, le=36500)
    """Days that former states of memories and facts are kept, and archived facts; None keeps them for good."""
    operation_days: Days = 90
    """Days that what an operation id did is kept: so long a call can be repeated safely."""
    audit_days: Days = 400
    """Days that the audit log is kept."""
    usage_days: Days = 400
    """Days that the usage of models is kept, and cognitive runs that have left nothing."""

    cognitive_buffer_threshold: int = Field(
        default=COGNITIVE_BUFFER_THRESHOLD,
        ge=0,
        le=100_000,
        validation_alias=AliasChoices(f"{PREFIX}COGNITIVE_BUFFER_THRESHOLD", "COGNITIVE_BUFFER_THRESHOLD"),
    )
    """More new memories than this are thought about in the next lull (mission: 20)."""
    lull_duration: Duration = Field(
        default=LULL_DURATION, validation_alias=AliasChoices(f"{PREFIX}LULL_DURATION", "LULL_DURATION")
    )
    """How long nobody has spoken in a lull (mission: 20 min)."""
    cognitive_ceiling: Duration = Field(
        default=COGNITIVE_CEILING, validation_alias=AliasChoices(f"{PREFIX}COGNITIVE_CEILING", "COGNITIVE_CEILING")
    )
    """After so long a single new memory is thought about, lull or not (mission: 4 h)."""
    episode_dedup_threshold: float = Field(
        default=EPISODE_DEDUP_THRESHOLD,
        ge=0,
        le=2,
        validation_alias=AliasChoices(f"{PREFIX}EPISODE_DEDUP_THRESHOLD", "EPISODE_DEDUP_THRESHOLD"),
    )
    """Cosine distance, in the mission's family, within which a new episode supersedes another (mission: 0.12)."""

    heartbeat_interval_s: float = Field(default=300.0, gt=0, le=86400)
    """The worker's tick (mission: 5 min)."""
    idle_drain_s: float = Field(default=30.0, ge=0, le=86400)
    """A space that has been quiet this long is drained without waiting for the heartbeat."""
    lease_s: float = Field(default=120.0, gt=0, le=3600)
    """How long a worker may hold a queued exchange, or a space's upkeep or cognition, before another may take it."""
    wait_for_model_s: float = Field(default=3600.0, ge=0, le=7 * 86400)
    """How long what was taken in while a model was configured is left to a process that has one, before a process
    without one keeps it word for word."""
    max_attempts: int = Field(default=3, ge=1, le=20)
    """Failed attempts before an exchange moves to failed_operations (mission: 3)."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    def budget_spent(self, calls: int, tokens: int) -> str | None:
        """Why no model may be asked in the background of a space any more today (UTC), of so many calls; or None."""
        return budget_spent(
            calls=calls, tokens=tokens, most_calls=self.daily_call_budget, most_tokens=self.daily_token_budget
        )

    @property
    def save_thresholds(self) -> SaveThresholds:
        """From which salience on each domain saves."""
        return SaveThresholds(self.grounded_salience, self.parametric_salience, self.item_salience)


def load_settings(**overrides: Any) -> Settings:
    """Settings from the environment, with arguments on top; None leaves the environment's value."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        # Neither text of `error` leaves here: both quote values, and a value may be a key under a mistyped name.
        first = error.errors(include_url=False, include_context=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        variable = name if name.isupper() else f"{PREFIX}{name.upper()}"
        field = Settings.model_fields.get(name) or Settings.model_fields.get(name.removeprefix(PREFIX).lower())
        hint = "See docs/settings.md for names, defaults and ranges."
        if first["type"] == "extra_forbidden" or field is None:
            close = get_close_matches(name.removeprefix(PREFIX).lower(), Settings.model_fields, n=1)
            meant = f"; did you mean {close[0]}?" if close else "."
            raise ConfigurationError(f"There is no setting {name!r}{meant}", hint=hint) from None
        value = "" if "SecretStr" in str(field.annotation) else f" = {shown(first['input'])}"
        raise ConfigurationError(f"{variable}{value} is not accepted: {first['msg']}.", hint=hint) from None
