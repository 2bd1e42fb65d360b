"""How many tokens a text costs in a prompt: an estimate that asks no tokenizer, and is rather too high than too low.

Models split the same text differently, and the one that will read it is the host's. What they have in common is that
scripts differ far more than models do. So each word is counted by its letters and its script; a word never costs less
than one token. On the paragraphs of XQuAD in twelve languages, and on made-up chat in six, the estimate is above what
the bundled model's own vocabulary (XLM-R, 250,000 pieces) counts in 95 % of texts or more, by a third on average
(docs/recall.md).
"""

from __future__ import annotations

import re
from typing import Final

_PIECES: Final = re.compile(
    r"(?P<digits>[0-9]+)"
    r"|(?P<latin>[a-zA-Z\u00aa-\u024f]+)"
    r"|(?P<ideographs>[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)"
    r"|(?P<syllables>[\u1100-\u11ff\u3040-\u30ff\uac00-\ud7af]+)"
    r"|(?P<unspaced>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)"
    r"|(?P<letters>[^\W\d_]+)"
    r"|(?P<space>\s+)"
    r"|(?P<marks>.)",
    re.DOTALL,
)
_LETTERS_PER_TOKEN: Final = {
    "digits": 1.0,
    "latin": 3.5,
    "ideographs": 1.0,
    "syllables": 1.0,
    "unspaced": 2.0,
    "letters": 2.5,
    "marks": 1.0,
}
"""By what a run of characters is made of. Spaces cost nothing beside the words, line ends one."""


def estimated_tokens(text: str) -> int:
    """Tokens that `text` costs at most in most models; 0 for an empty text. Never falls when text is added."""
    tokens = 0
    for piece in _PIECES.finditer(text):
        kind, length = str(piece.lastgroup), piece.end() - piece.start()
        if kind == "space":
            tokens += piece[0].count("\n")
        else:
            tokens += -int(-length // _LETTERS_PER_TOKEN[kind])
    return tokens
