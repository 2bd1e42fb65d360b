"""How many tokens a text costs in a prompt: an estimate that asks no tokenizer, and is rather too high than too low.

Models split the same text differently, and the one that will read it is the host's. What they have in common is that
scripts differ far more than models do. So each word is counted by its letters and its script; a word never costs less
than one token. On paragraphs of XQuAD and chat in six languages each, and on LoCoMo, the estimate is above what the
bundled model's own vocabulary (XLM-R, 250,000 pieces) counts in more than 99 % of texts (docs/recall.md).
"""

from __future__ import annotations

import re
from math import ceil
from typing import Final

_OWN_MEASURE: Final = re.compile(
    "[a-zA-Z\u00aa-\u024f]+"  # Latin
    "|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"  # Thai, Lao, Burmese, Khmer
    "|[\u1100-\u11ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_OTHER_WORD: Final = re.compile(r"[^\W\d_]+")
_SPACE: Final = re.compile(r"\s+")
_PER_LATIN: Final = 3.5
_PER_UNSPACED: Final = 2.0
_PER_LETTER: Final = 2.5
"""Letters of a token: of Latin words, of the scripts without spaces that are spelled, of other alphabets."""
_CHARS_OF_SAMPLES: Final = 4
"""Characters of a token in the samples of recall (mission: ceil(characters / 4))."""


def estimated_tokens(text: str) -> int:
    """Tokens that `text` costs at most in most models; 0 for an empty text. Never falls when text is added.

    Ideographs, syllables, digits and marks cost one each; spaces nothing, line ends one.
    """
    runs = _OWN_MEASURE.findall(text)
    others = [] if text.isascii() else _OTHER_WORD.findall(_OWN_MEASURE.sub(" ", text))
    tokens = sum([_cost(run) for run in runs]) + sum([ceil(len(run) / _PER_LETTER) for run in others])
    rest = len(text) - sum(map(len, runs)) - sum(map(len, others)) - sum(map(len, _SPACE.findall(text)))
    return tokens + rest + text.count("\n")


def sampled_tokens(characters: int) -> int:
    """Tokens of so many characters as the samples of recall count them: coarse, but the same on every machine.

    >>> sampled_tokens(0), sampled_tokens(1), sampled_tokens(8)
    (0, 1, 2)
    """
    return ceil(characters / _CHARS_OF_SAMPLES)


def _cost(run: str) -> int:
    if run[0] <= "\u024f":
        return ceil(len(run) / _PER_LATIN)
    return ceil(len(run) / _PER_UNSPACED) if _is_spelled(run[0]) else len(run)


def _is_spelled(character: str) -> bool:
    return "\u0e00" <= character <= "\u0eff" or "\u1000" <= character <= "\u109f" or "\u1780" <= character <= "\u17ff"
