"""How one server is asked: what kind it is, which model it has, and what it has refused so far."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from perdure.llm.dialects import Dialect, Form, Learned, Peek, Sighting, compose, detect, first_form
from perdure.llm.refusals import Refusal, learn, weaker_form

_NAMED_MODELS: Final = 6
_MODEL_CHARS: Final = 120
_HELLO_TOKENS: Final = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model is asked: the messages, whether it may think, and what the answer has to be."""

    messages: tuple[dict[str, str], ...]
    thinking: bool = False
    schema: type[BaseModel] | None = None

    @property
    def text(self) -> str:
        return "".join(message["content"] for message in self.messages)


_HELLO: Final = Asked(({"role": "user", "content": "Say OK."},))


class Manner:
    """Starts from what is set and learns the rest from the server's answers."""

    def __init__(
        self, base: str, model: str | None, dialect: Dialect | None, peek: Callable[[str], Awaitable[Peek]]
    ) -> None:
        self._base = base
        self._model = model or None
        self._dialect = dialect
        self._peek = peek
        self._sighting: Sighting | None = None
        self._learned = Learned()
        self._forms: dict[type[BaseModel], Form] = {}
        self._proven: set[tuple[type[BaseModel], Form]] = set()

    @property
    def dialect(self) -> Dialect | None:
        """As set or found out; None while nobody has asked."""
        return self._dialect or (self._sighting.dialect if self._sighting else None)

    @property
    def model(self) -> str | None:
        """The model to name in a request: as set, or what a server of one model lists."""
        if self._model or self._sighting is None:
            return self._model
        models = self._sighting.models
        single = len(models) == 1 or self.dialect in (Dialect.LLAMACPP, Dialect.VLLM)
        return models[0] if models and single else None

    @property
    def signature(self) -> str:
        """Name of the model as it is stored with what it wrote; a file's name without its folder."""
        name = self.model or "unnamed"
        return (name.replace("\\", "/").rpartition("/")[2] if name.endswith(".gguf") else name)[:_MODEL_CHARS]

    async def look(self) -> Sighting:
        """What the server shows of itself now; remembered once it is certain."""
        sighting = await detect(self._base, self._peek)
        if sighting.certain or self._sighting is None:
            self._sighting = sighting
        return sighting

    def missing_model(self) -> bool:
        """Whether the server lists its models, and the one that is set isn't among them."""
        if self._model is None or self._sighting is None or self.dialect not in (Dialect.OLLAMA, Dialect.VLLM):
            return False
        models = self._sighting.models
        return bool(models) and self._model not in models and f"{self._model}:latest" not in models

    def models_to_set(self) -> str:
        """For a hint: `to one of a, b`, or `to a model that the server has` where it lists none."""
        models = self._sighting.models[:_NAMED_MODELS] if self._sighting else ()
        return f"to one of {', '.join(models)}" if models else "to a model that the server has"

    async def body(self, asked: Asked, max_tokens: int) -> tuple[dict[str, Any], Form]:
        """The request for `asked`, and in which form it holds the answer to its schema."""
        sure = self._sighting is not None and self._sighting.certain
        if not sure and not (self._dialect and self._model):
            await self.look()
        dialect = self.dialect or Dialect.OPENAI
        form = Form.PLAIN
        if asked.schema is not None:
            form = self._forms.get(asked.schema) or first_form(dialect, self._base)
        return self._composed(asked, max_tokens, form), form

    def hello(self) -> dict[str, Any]:
        """A tiny request that any input's fault has nothing to do with."""
        return self._composed(_HELLO, _HELLO_TOKENS, Form.PLAIN)

    def worked(self, asked: Asked, form: Form) -> None:
        if asked.schema is not None:
            self._proven.add((asked.schema, form))

    def adapt(self, refusal: Refusal, body: dict[str, Any], form: Form, asked: Asked) -> bool:
        """Remember what the server doesn't want; False if that leaves nothing to change."""
        learned = learn(refusal, body, self._learned)
        if learned != self._learned:
            self._learned = learned
            return True
        if asked.schema is None:
            return False
        proven = (asked.schema, form) in self._proven
        weaker = weaker_form(refusal, form, proven=proven)
        if weaker is not None:
            self._forms[asked.schema] = weaker
        elif not proven:
            # Not even a plain request did: the form was not what it minded.
            self._forms.pop(asked.schema, None)
        return weaker is not None

    def _composed(self, asked: Asked, max_tokens: int, form: Form) -> dict[str, Any]:
        return compose(
            self.dialect or Dialect.OPENAI,
            self._base,
            self.model,
            asked.messages,
            thinking=asked.thinking,
            stream=asked.thinking,
            max_tokens=max_tokens,
            schema=asked.schema,
            form=form,
            learned=self._learned,
        )
