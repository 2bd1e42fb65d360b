"""One measurement: conversations go in as any import does, questions are asked as any search is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from perdure.connect import Question
from perdure.errors import EmbeddingUnavailable, InvalidInput
from perdure.evaluation.baselines import DEPTH, Baselines
from perdure.evaluation.cache import CachedEmbedder, Unfinished
from perdure.evaluation.identity import question_key, run_key, space_name
from perdure.evaluation.report import OURS, Answer, Ranking, Report, summarise
from perdure.evaluation.sets import EvaluationSet, Skipped
from perdure.ingest import BatchReport, batches
from perdure.resources import Resources
from perdure.rules.ranking import RankingProfile
from perdure.store.database import SpaceTransaction
from perdure.store.spaces import SpaceRow
from perdure.store.survey import Survey, survey_space
from perdure.types import Message, SearchResult

BATCH: Final = 256
"""Messages per transaction."""


class EvaluatedSpace(Protocol):
    """What a measurement needs of a `Space`."""

    async def import_messages(self, messages: Sequence[Message], *, source: str) -> BatchReport: ...
    async def search(
        self, query: str, *, limit: int, profile: str, plain: bool, asked_at: datetime | None
    ) -> SearchResult: ...


class EvaluatedMemory(Protocol):
    """What a measurement needs of a `Memory`."""

    @property
    def resources(self) -> Resources: ...
    def space(self, name: str) -> EvaluatedSpace: ...
    async def find_space(self, name: str) -> SpaceRow | None: ...


class Watcher(Protocol):
    """Told how far a run is."""

    def imported(self, messages: int) -> None: ...
    def asked(self, questions: int) -> None: ...


async def evaluate(
    memory: EvaluatedMemory,
    embedder: CachedEmbedder,
    chosen: EvaluationSet,
    profile: RankingProfile,
    *,
    unfinished: Path,
    watcher: Watcher,
) -> Report:
    """Measures retrieval on a set. Repeated after an interruption, it goes on where it stopped.

    Args:
        memory: opened on a data directory for evaluations, with `embedder`.
        profile: one of `rules.profiles.PROFILES`.
        unfinished: a folder for the answers of runs that did not come to their end.

    Raises:
        EmbeddingUnavailable, EmbeddingFailed: what was done so far is kept.
        DatabaseUnavailable: so it is here.
    """
    kept = Unfinished(unfinished / f"{run_key(chosen.name, profile, memory.resources)}.jsonl")
    known = kept.read()
    answers: list[Answer] = []
    asked = chosen.by_conversation()
    for conversation, messages in chosen.conversations.items():
        name = space_name(chosen.name, conversation, messages, memory.resources)
        questions = [(question_key(name, question), question) for question in asked[conversation]]
        if all(key in known for key, _ in questions):
            watcher.imported(len(messages))
            watcher.asked(len(questions))
        else:
            await _import(memory.space(name), messages, chosen.skipped, watcher)
            asking = await _Asking.of(memory, name, embedder, messages, profile)
            for key, question in questions:
                if key not in known:
                    try:
                        known[key] = (await asking.answer(question)).to_data()
                    except InvalidInput as error:
                        line = question.line
                        chosen.skipped.refused.append(error if line is None else error.at_line(line))
                        continue
                    kept.add(key, known[key])
                watcher.asked(1)
        answers += [Answer.from_data(known[key]) for key, _ in questions if key in known]
    kept.forget()
    return summarise(
        answers,
        profile=profile.name,
        embedder=embedder.family.name,
        with_sessions=any(question.evidence_sessions for question in chosen.questions),
    )


async def _import(space: EvaluatedSpace, messages: Sequence[Message], skipped: Skipped, watcher: Watcher) -> None:
    for _, batch in batches(messages, BATCH):
        report = await space.import_messages(batch, source="eval")
        skipped.refused.extend(report.refused)
        watcher.imported(len(batch))


class _Asking:
    """Questions to one imported space."""

    def __init__(
        self,
        space: EvaluatedSpace,
        survey: Survey,
        embedder: CachedEmbedder,
        messages: Sequence[Message],
        profile: RankingProfile,
    ) -> None:
        self._space, self._survey, self._embedder, self._profile = space, survey, embedder, profile
        self._baselines = Baselines(survey.memories)
        # A question without a time is asked right after the conversation, whatever the day of the measurement.
        self._last_said = max(message.occurred_at for message in messages if message.occurred_at is not None)
        names = dict.fromkeys(message.conversation_id for message in messages if message.conversation_id is not None)
        self._sessions = {name: number for number, name in enumerate(names)}
        # An exact duplicate is stored once: then one root stands for turns of several sessions.
        self._sessions_of: dict[int, list[int]] = {}
        for message in messages:
            root = survey.roots.get(message.external_id)
            if root is not None and message.conversation_id is not None:
                self._sessions_of.setdefault(root, []).append(self._sessions[message.conversation_id])

    @classmethod
    async def of(
        cls,
        memory: EvaluatedMemory,
        name: str,
        embedder: CachedEmbedder,
        messages: Sequence[Message],
        profile: RankingProfile,
    ) -> _Asking:
        row = await memory.find_space(name)
        family_id = memory.resources.family.id

        async def read(tx: SpaceTransaction) -> Survey:
            return await survey_space(tx, family_id)

        survey = Survey((), {}) if row is None else await memory.resources.database.in_space(row.id, read)
        return cls(memory.space(name), survey, embedder, messages, profile)

    async def answer(self, question: Question) -> Answer:
        """Asks ours and the baselines.

        Raises EmbeddingUnavailable when there was no vector to search with, InvalidInput for a question without words.
        """
        found = await self._space.search(
            question.text,
            limit=DEPTH,
            profile=self._profile.name,
            plain=True,
            asked_at=question.time or self._last_said,
        )
        if found.degraded:
            hint = "Run the same command again: it goes on with this question."
            raise EmbeddingUnavailable(f"A question could not be embedded: {found.degraded[0]}", hint=hint)
        text = found.query
        vector = (await self._embedder.embed([text], "query"))[0]
        ours = list(dict.fromkeys(hit.memory.chunk_of or hit.memory.id for hit in found.hits))
        ranked: dict[str, Sequence[int]] = {OURS: ours, **self._baselines.rankings(text, vector)}
        return Answer(
            question.category,
            self._turns(question, ranked),
            self._by_session(question, ranked),
            float(found.timings_ms["database"]),
            self._embedder.took_ms(text, "query"),
        )

    def _turns(self, question: Question, ranked: dict[str, Sequence[int]]) -> Ranking | None:
        if not question.evidence:
            return None
        # What was not stored (a turn without a letter) cannot be found, and still counts.
        relevant = [self._survey.roots.get(turn, -place) for place, turn in enumerate(question.evidence, start=1)]
        return Ranking(tuple(dict.fromkeys(relevant)), ranked)

    def _by_session(self, question: Question, ranked: dict[str, Sequence[int]]) -> Ranking | None:
        """A session stands where its best turn does."""
        if not question.evidence_sessions:
            return None
        relevant = tuple(self._sessions[session] for session in question.evidence_sessions)
        sessions = {
            system: list(dict.fromkeys(session for root in roots for session in self._sessions_of.get(root, ())))
            for system, roots in ranked.items()
        }
        return Ranking(relevant, sessions)
