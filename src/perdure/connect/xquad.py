"""XQuAD (Artetxe et al., 2020): the same paragraphs and questions in several languages.

Each language has a file of its own, whose name says which it is: `xquad.en.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.connect.json_stream import JsonCursor
from perdure.connect.questions import Question, QuestionSet
from perdure.connect.reading import Rejected, Source
from perdure.connect.values import mapping, sequence
from perdure.errors import InvalidInput
from perdure.text import require_text
from perdure.types import Message

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = re.compile(r"xquad\.(?P<language>[a-z][a-z-]*)\.json(?:\.gz)?")


class _Paragraph(NamedTuple):
    """A paragraph as the file has it; its id says which paragraph of which article it is, both from 1."""

    language: str
    id: str
    fields: dict[str, object]


def xquad_files(place: Path) -> list[Path]:
    """The files of all languages in a folder, by name; or the file itself. Raises InvalidInput where there is none."""
    if place.is_dir():
        found = sorted(path for path in place.iterdir() if _NAME.fullmatch(path.name))
    else:
        found = [place] if _NAME.fullmatch(place.name) else []
    if not found:
        raise InvalidInput("data", str(place), "there is no file here that is named like xquad.en.json")
    return found


def read_xquad_paragraphs(place: Path) -> Iterator[Message | Rejected]:
    """Every paragraph; its space is the language. Raises InvalidInput for a file that isn't JSON of this shape."""
    for paragraph in _paragraphs(place):
        try:
            text = require_text(paragraph.fields.get("context"), "context")
        except InvalidInput as error:
            yield Rejected(None, error)
            continue
        yield Message(paragraph.id, text, space=paragraph.language)


def read_xquad_questions(place: Path) -> QuestionSet:
    """Every question, with its paragraph as evidence and its language as category. Raises as the paragraphs do."""
    return QuestionSet(_questions(place))


def _questions(place: Path) -> Iterator[Question | Rejected]:
    for language, paragraph, fields in _paragraphs(place):
        for asked in sequence("qas", fields.get("qas")):
            try:
                text = require_text(mapping("qas", asked).get("question"), "question")
            except InvalidInput as error:
                yield Rejected(None, error)
                continue
            yield Question(language, text, None, language, (paragraph,))


def _paragraphs(place: Path) -> Iterator[_Paragraph]:
    for path in xquad_files(place):
        named = _NAME.fullmatch(path.name)
        assert named is not None
        with Source(path).open() as stream:
            whole = mapping("json", JsonCursor(stream.read).value().decode())
        for number, article in enumerate(sequence("data", whole.get("data")), start=1):
            paragraphs = sequence("paragraphs", mapping("data", article).get("paragraphs"))
            for place_in_article, paragraph in enumerate(paragraphs, start=1):
                yield _Paragraph(
                    named["language"], f"a{number:03}p{place_in_article:03}", mapping("paragraphs", paragraph)
                )
