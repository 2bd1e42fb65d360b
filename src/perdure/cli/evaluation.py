"""`perdure eval`: retrieval measured on a set of questions, beside plain BM25, plain cosine and both fused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from perdure.cli.call import Call, common, run_async
from perdure.cli.evaluation_gate import gate_data, show_gate
from perdure.cli.evaluation_view import report_data, run_progress, show, tell_refused
from perdure.cli.printing import tell
from perdure.clock import DatabaseClock
from perdure.errors import InvalidInput
from perdure.rules.profiles import PROFILES

if TYPE_CHECKING:
    from perdure.evaluation import CachedEmbedder, EvaluationSet, Format, GateReport, LabelledTurn, Report
    from perdure.memory import Memory
    from perdure.rules.ranking import RankingProfile
    from perdure.settings import Settings

T = TypeVar("T")
KNOWN_SETS: Final = ("locomo", "longmemeval", "madial", "xquad")


@dataclass(frozen=True, slots=True)
class Places:
    """Where a run keeps things: vectors, answers of unfinished runs, and the database, apart from the user's own."""

    cache: Path
    database: Path


class EvaluationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a run."""

    hint = "What was embedded, imported and answered is kept. The same command goes on from there."


@click.command("eval", short_help="Measure retrieval on a set of questions.")
@click.argument("what", metavar="{locomo,longmemeval,madial,xquad,FILE}")
@click.option("--data", type=click.Path(path_type=Path), metavar="PATH", help="The set's file, or the folder it is in.")
@click.option("--profile", metavar="NAME", help="Ranking profile to measure. [default: the configured one]")
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    help="Embeddings and imported conversations, kept between runs. [default: eval in the platform's cache directory]",
)
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Only N questions, spread over the set.")
@click.option("--part", type=click.Choice(("even", "odd")), help="Only every other conversation, counted from 0.")
@click.option("--language", metavar="CODE", help="Only one language of XQuAD: en, zh and so on.")
@click.option("--gate", is_flag=True, help="Measure the relevance gate: what a recall keeps back, and what that costs.")
@common
def evaluate(
    call: Call,
    *,
    what: str,
    data: Path | None,
    profile: str | None,
    cache: Path | None,
    sample: int | None,
    part: str | None,
    language: str | None,
    gate: bool,
) -> None:
    """Measure retrieval on LoCoMo, LongMemEval, MADial-Bench, XQuAD, or a FILE of JSON lines.

    A FILE holds messages and queries.

    Every turn becomes a memory, every conversation a space, in a database of the evaluation's own; no language model
    is used. With --space only the conversation of that name is measured. Interrupt it whenever you like: the same
    command goes on where it stopped. docs/evaluation.md explains the figures.
    """
    from perdure.evaluation import Choice, read_set, read_turns  # noqa: PLC0415 - loads the readers and numpy
    from perdure.settings import load_settings  # noqa: PLC0415

    settings = load_settings()
    ranking = _profile(profile or settings.ranking_profile)
    path, kind = _source(what, data)
    only = _language(language, kind) or (call.space_name if call.space_given else None)
    choice = Choice(sample, part, only)  # type: ignore[arg-type]
    places = _places(call, cache, settings)
    if gate:
        chosen, turns = read_turns(path, kind, choice)
        found = _finished(_measure_gate(settings, places, chosen, turns, ranking))
        tell_refused(chosen.skipped)
        call.answer(gate_data(found), lambda screen: show_gate(screen, found, chosen))
        return
    chosen = read_set(path, kind, choice)
    report = _finished(_measure(settings, places, chosen, ranking))
    tell_refused(chosen.skipped)
    call.answer(report_data(report, chosen.skipped), lambda screen: show(screen, report, chosen))


def _finished(work: Coroutine[Any, Any, T]) -> T:
    try:
        return run_async(work)
    except KeyboardInterrupt:
        raise EvaluationInterrupted from None


def _profile(name: str) -> RankingProfile:
    if name not in PROFILES:
        raise InvalidInput("profile", name, f"it has to be one of {', '.join(PROFILES)}")
    return PROFILES[name]


def _language(language: str | None, kind: Format) -> str | None:
    """The space of this language: XQuAD's languages have one each."""
    if language is not None and kind != "xquad":
        raise InvalidInput("language", language, "it belongs to xquad; other sets have no languages to choose from")
    return language


def _source(what: str, data: Path | None) -> tuple[Path, Format]:
    """The file to measure with, and what it is."""
    from perdure.evaluation import find_file, set_format  # noqa: PLC0415

    for kind in KNOWN_SETS:
        if what == kind:
            if data is None:
                limit = f"the file of {kind}, or the folder it is in, is needed: perdure eval {kind} --data PATH"
                raise InvalidInput("data", None, limit)
            return find_file(data, kind), kind
    if data is not None:
        raise InvalidInput("data", str(data), f"it belongs to {', '.join(KNOWN_SETS)}; a file is named by itself")
    path = Path(what)
    if not path.exists():
        raise InvalidInput("file", what, f"there is no such file, and it is none of {', '.join(KNOWN_SETS)}")
    return path, set_format(path)


def _places(call: Call, cache: Path | None, settings: Settings) -> Places:
    from perdure.evaluation import schema  # noqa: PLC0415

    if cache is None:
        import platformdirs  # noqa: PLC0415

        cache = (settings.cache_dir or Path(platformdirs.user_cache_dir("perdure"))) / "eval"
    return Places(cache, call.data_dir or cache / f"database-{schema()}")


async def _measure(settings: Settings, places: Places, chosen: EvaluationSet, profile: RankingProfile) -> Report:
    from perdure.evaluation import evaluate as measure  # noqa: PLC0415

    async with _opened(settings, places, profile) as (memory, embedder):
        with run_progress(chosen.messages, len(chosen.questions)) as watcher:
            return await measure(
                memory, embedder, chosen, profile, unfinished=places.cache / "unfinished", watcher=watcher
            )


async def _measure_gate(
    settings: Settings, places: Places, chosen: EvaluationSet, turns: Sequence[LabelledTurn], profile: RankingProfile
) -> GateReport:
    from perdure.evaluation import evaluate_gate  # noqa: PLC0415

    async with _opened(settings, places, profile) as (memory, _):
        with run_progress(chosen.messages, len(turns)) as watcher:
            return await evaluate_gate(memory, chosen, turns, watcher)


@asynccontextmanager
async def _opened(
    settings: Settings, places: Places, profile: RankingProfile
) -> AsyncIterator[tuple[Memory, CachedEmbedder]]:
    """A memory of the evaluation's own, with an embedder that embeds no text twice."""
    from perdure.evaluation import CachedEmbedder  # noqa: PLC0415
    from perdure.llm import Models  # noqa: PLC0415
    from perdure.memory import Memory, configured_embedder  # noqa: PLC0415

    # The user's own server, if there is one, is left alone.
    own = settings.model_copy(
        update={
            "data_dir": places.database,
            "database_url": None,
            "database_worker_url": None,
            "database_owner_url": None,
            "ranking_profile": profile.name,
        }
    )
    clock = DatabaseClock()
    inner = await asyncio.to_thread(configured_embedder, own)
    embedder = CachedEmbedder(inner, places.cache / "embeddings", clock)
    try:
        async with Memory(
            own, embedder=embedder, models=Models.none(), worker=False, clock=clock, progress=tell
        ) as memory:
            yield memory, embedder
    finally:
        await embedder.close()
