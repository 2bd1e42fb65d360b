"""The frame of a request: "can you recommend …", "any tips?". It says what is to be done, not what it is about.

A memory that somebody asked for recommendations is no better an answer to a question that asks for one, so that a query
is searched for without its frame. The verb alone is no frame: "What did Tim recommend?" is about a recommendation.
"""

from __future__ import annotations

from typing import Final

import regex

_FRAMES: Final = (
    # English
    (
        r"\b(?:can|could|would|will)\s(?:you|u)\s(?:please\s|kindly\s|also\s|just\s|maybe\s)*+"
        r"(?:suggest|recommend|give|tell|help|show|offer|provide|share|remind|find|list|advise|explain)\b"
        r"(?:\sme\b)?(?:\s(?:with|about|of)\b)?"
    ),
    r"\b(?:please\s)?(?:suggest|recommend|remind|help|tell|advise)\sme\b(?:\s(?:with|about|of)\b)?",
    r"\b(?:any|some)\s(?:good\s|other\s|more\s)?(?:tips?|advice|suggestions?|recommendations?|ideas?|thoughts)\b",
    # Spanish
    (
        r"\b(?:me\s)?(?:puedes|podr[ií]as?|puede)\s"
        r"(?:sugerir|recomendar|aconsejar|decir|dar|ayudar|recordar|mostrar|explicar)(?:me|nos)?\b(?:\s(?:con|sobre)\b)?"
    ),
    r"\balg(?:[uú]n|una?s?|unos)\s(?:consejos?|sugerencias?|recomendaci[oó]n(?:es)?|ideas?)\b",
    # French
    (
        r"\b(?:peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|tu\speux|vous\spouvez)\s(?:me\s|m'|nous\s)?"
        r"(?:sugg[eé]rer|recommander|conseiller|dire|donner|aider|rappeler|montrer|expliquer)\b(?:\s(?:avec|sur)\b)?"
    ),
    # German: the verb stands at the end
    r"\b(?:kannst\sdu|k[oö]nntest\sdu|k[oö]nnen\ssie|k[oö]nnten\ssie)\s(?:mir\s|uns\s)?(?:bitte\s|mal\s)*+",
    r"\b(?:empfehlen|vorschlagen|sagen|nennen|geben|zeigen|helfen)(?=\s?[?.!]?\s*\Z)",
    r"\birgendwelche\s(?:tipps|vorschl[aä]ge|empfehlungen|ideen)\b",
    # Portuguese, Italian
    (
        r"\b(?:voc[eê]\s)?(?:pode|poderia|podes)\s(?:me\s)?"
        r"(?:sugerir|recomendar|aconselhar|dizer|dar|ajudar|lembrar|mostrar|explicar)(?:-me)?\b(?:\s(?:com|sobre)\b)?"
    ),
    (
        r"\b(?:puoi|potresti|pu[oò]|potrebbe)\s"
        r"(?:suggerir|consigliar|raccomandar|dir|dar|aiutar|ricordar|mostrar|spiegar)(?:mi|ci|e)\b"
    ),
    # Russian
    (
        r"\b(?:можешь|можете|могли?\sбы\s(?:ты|вы))\s(?:мне\s)?"
        r"(?:посоветовать|порекомендовать|предложить|сказать|помочь|напомнить|показать)\b(?:\sс\b)?"
    ),
    r"\b(?:посоветуй|порекомендуй|подскажи|напомни)(?:те)?\b(?:\sмне\b)?",
    # Chinese
    (
        r"[你您]?(?:能不能|可不可以|能否|能|可以)(?:给我|帮我|跟我|為我|给|帮)?(?:推荐|推薦|建议|建議|介绍|介紹|提醒|告诉|告訴)我?"
        r"(?:一下|一些|几个|幾個)?"
    ),
    r"有(?:没有|什么|沒有|什麼)*+(?:好的)?(?:建议|建議|推荐|推薦|想法)吗?",
)
_FRAME: Final = regex.compile("|".join(_FRAMES), regex.IGNORECASE)
# One of these stands in every frame; looking for them alone is much faster.
_SIGNS: Final = regex.compile(
    r"\L<signs>",
    regex.IGNORECASE,
    signs=[
        *("n you ", "d you ", "l you ", "n u ", "d u ", "t me", "d me", "p me", "l me", "e me", "any ", "some "),
        *("pued", "podr", "pode", "alg", "peux", "pouvez", "pourr", "kannst", "nntest", "nnen sie", "nnten sie"),
        *("empfehl", "vorschlag", "irgendwelche", "puoi", "potre", "può", "puo", "мож", "мог", "посоветуй"),
        *("порекомендуй", "подскажи", "напомни", "能", "可", "有"),
    ],
)


def without_frame(text: str) -> str:
    """A query without the frames of its requests, which may leave nothing.

    >>> without_frame("Can you recommend me a hotel in Miami? Any tips?")
    '  a hotel in Miami?  ?'
    """
    return text if _SIGNS.search(text) is None else _FRAME.sub(" ", text)
