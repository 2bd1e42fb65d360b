"""The page about text says what the code does."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import ModuleType

import pytest

import perdure.rules.dormancy
import perdure.rules.fact_ids
import perdure.rules.fact_tags
import perdure.rules.placeholders
import perdure.rules.salience
import perdure.text.consent
import perdure.text.dates
import perdure.text.folding
import perdure.text.intent
import perdure.text.names
import perdure.text.questions
import perdure.text.secrets
import perdure.text.words

PAGE = Path(__file__).parents[2] / "docs" / "text.md"


def test_every_example_on_the_page_is_true() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert found.attempted > 15
    assert found.failed == 0


@pytest.mark.parametrize(
    "module",
    [
        perdure.rules.dormancy,
        perdure.rules.fact_ids,
        perdure.rules.fact_tags,
        perdure.rules.placeholders,
        perdure.rules.salience,
        perdure.text.consent,
        perdure.text.dates,
        perdure.text.folding,
        perdure.text.intent,
        perdure.text.names,
        perdure.text.questions,
        perdure.text.secrets,
        perdure.text.words,
    ],
    ids=lambda m: m.__name__,
)
def test_every_example_in_a_docstring_is_true(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0
