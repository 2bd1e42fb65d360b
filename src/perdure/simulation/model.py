"""A language model that judges as the script of a life says: no network, no chance, the same answers every time."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from perdure.llm import Answer, Ledger, Models, RoleState
from perdure.llm.call_sites import CALL_SITES
from perdure.llm.prompting import Prompt
from perdure.llm.usage import ModelUse, estimated_tokens
from perdure.simulation.life import Life, Sentence

M = TypeVar("M", bound=BaseModel)

MODEL: Final = "scripted"
SLOTS: Final = 4
_DATA: Final = re.compile(r'<data name="(\w+)">(.*?)</data>', re.DOTALL)
_SHOWN: Final = re.compile(r"^\s*\[(\d+)\] ([^:]+): (.*)$", re.MULTILINE)
_CARD: Final[Mapping[str, str]] = {
    "name": "name",
    "location": "location",
    "occupation": "occupation",
    "person": "important_people",
}


class ScriptedModels(Models):
    """Both roles, answered from a script; counts what it is asked as any model's use is counted."""

    def __init__(self, life: Life) -> None:
        super().__init__()
        self._by_words = {sentence.words: sentence for sentence in life.sentences}
        self.asked: dict[str, int] = {}
        """How often each call site was asked."""

    def can(self, site: str) -> bool:
        return site not in {"rewrite", "rerank"}

    def slots(self, site: str) -> int:
        return SLOTS

    def off(self) -> tuple[str, ...]:
        return ()

    async def roles(self) -> tuple[RoleState, ...]:
        return ()

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
        """The script's answer. Raises KeyError for a question that no script answers."""
        value = schema.model_validate(self._answer(site, _fields(prompt)))
        text = value.model_dump_json()
        self._count(site, prompt, text, ledger, live=live)
        return Answer(value, prompt.made_by(MODEL), text)

    async def write(
        self, site: str, prompt: Prompt, *, ledger: Ledger, live: bool = False, deadline_s: float | None = None
    ) -> Answer[str]:
        """A plain sentence; the script has no prose."""
        text = "What was known before is to be read in the light of this."
        self._count(site, prompt, text, ledger, live=False)
        return Answer(text, prompt.made_by(MODEL), text)

    def _count(self, site: str, prompt: Prompt, text: str, ledger: Ledger, *, live: bool) -> None:
        self.asked[site] = self.asked.get(site, 0) + 1
        asked, answered = estimated_tokens(prompt.system + prompt.user), estimated_tokens(text)
        ledger.record(ModelUse(site, CALL_SITES[site].role, MODEL, True, asked, answered, 0.0, live=live))

    def _answer(self, site: str, data: Mapping[str, str]) -> dict[str, Any]:
        answers: Mapping[str, Callable[[Mapping[str, str]], dict[str, Any]]] = {
            "triage": self._triage,
            "contradiction": self._contradiction,
            "entities": lambda given: {"entities": list(self._named(" ".join(given.values())))},
            "quality": lambda _: {"specificity": 0.4, "uniqueness": 0.4, "entities": [], "confidence": 0.9},
            "usefulness": lambda given: {"verdict": "YES" if given["memory"].strip() in given["reply"] else "NO"},
            "consolidation": self._consolidation,
            "episode": self._episode,
            "reflection": self._reflection,
        }
        return answers[site](data)

    def _triage(self, data: Mapping[str, str]) -> dict[str, Any]:
        found = self._in(" ".join(data.values()))
        sentence = found[-1] if found else None
        return {
            "language": "en",
            "summary": sentence.words if sentence else "nothing",
            "category": "fact" if sentence and sentence.value else "event",
            "tags": [],
            "said_by": "tool" if sentence and sentence.kind == "mail" else "user",
            "salience": sentence.salience if sentence else 1,
            "save": sentence is not None and sentence.salience > 1,
            "paradigm_shift": False,
        }

    def _contradiction(self, data: Mapping[str, str]) -> dict[str, Any]:
        two = [self._in(text) for text in data.values()]
        told = [found[-1] for found in two if found]
        verdict = "COMPATIBLE"
        if len(told) > 1 and told[0].value and told[0].topic == told[1].topic:
            verdict = "DUPLICATE" if told[0] == told[1] else "UPDATES"
        return {"reason": "The script says so.", "verdict": verdict}

    def _reflection(self, data: Mapping[str, str]) -> dict[str, Any]:
        numbers = [int(found[1]) for found in _SHOWN.finditer(data["memories"])][:3]
        patterns = [{"text": "Cooking and small repairs come back.", "rests_on": numbers}]
        return {"patterns": patterns, "evolving_interests": [], "connections": [], "predictions": []}

    def _consolidation(self, data: Mapping[str, str]) -> dict[str, Any]:
        shown = data["memories"]
        updates: list[dict[str, Any]] = []
        traits: list[dict[str, Any]] = []
        for found in _SHOWN.finditer(shown):
            number, sentence = int(found[1]), self._by_words.get(found[3].strip())
            if sentence is None or not sentence.card:
                continue
            if sentence.card == "trait":
                traits.append(
                    {
                        "category": "preference",
                        "action": "set",
                        "key": sentence.topic,
                        "value": sentence.value,
                        "rests_on": [number],
                    }
                )
            else:
                updates.append(
                    {
                        "field": _CARD[sentence.card],
                        "action": "set",
                        "value": sentence.value,
                        "relation": sentence.topic if sentence.card == "person" else "",
                        "rests_on": [number],
                    }
                )
        return {"profile_updates": updates, "trait_updates": traits, "merges": []}

    def _episode(self, data: Mapping[str, str]) -> dict[str, Any]:
        words = [found[3].strip() for found in _SHOWN.finditer(data["memories"])]
        return {"summary": f"That day: {' '.join(words[:2])}"[:900], "tags": []}

    def _in(self, text: str) -> list[Sentence]:
        """The sentences of the script that stand in a text, in their order."""
        places = [(text.find(words), one) for words, one in self._by_words.items() if words in text]
        return [one for _, one in sorted(places, key=lambda place: place[0])]

    def _named(self, text: str) -> Sequence[str]:
        return tuple(dict.fromkeys(name for one in self._in(text) for name in one.names))


def _fields(prompt: Prompt) -> dict[str, str]:
    """The data of a prompt, by the names of its fields."""
    return {found[1]: html.unescape(found[2]).replace("\n  ", "\n") for found in _DATA.finditer(prompt.user)}
