"""Secrets: what gives access is masked before anything of a text is stored, queued, hashed or logged.

Four look: `secret_formats` for what has a known form (keys and tokens of some 180 providers, private keys, passwords
in addresses, cookies), `secret_cards` for card numbers, `secret_numbers` for those of accounts and persons, and
`secret_announced` for what stands beside a word that announces a secret, as in "my password is hunter2", in the
languages people say it in. Of data, `secret_fields` says which names announce one.
What merely looks random (commits, UUIDs, orders, phone numbers) stays. Every search is linear in the length of the
text: what may repeat in a pattern is bounded or possessive.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import regex

from perdure.text.secret_announced import announced_secrets
from perdure.text.secret_cards import LEAST_CARD, OTHER_NUMBER, card_numbers
from perdure.text.secret_fields import kind_of_field
from perdure.text.secret_formats import secrets_by_form
from perdure.text.secret_kinds import HIDDEN, Found
from perdure.text.secret_numbers import personal_numbers

_MASKED: Final = regex.compile(r"\[secret: [a-z ]{1,20}\]")
_INVISIBLE: Final = regex.compile(r"[\u00ad\u034f\u180e\u200b-\u200f\u2060-\u2064\ufeff]")


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets, and what kinds of them were found, in order of first appearance."""

    text: str
    kinds: tuple[str, ...] = ()


def mask(text: str) -> Masked:
    """`text` with every secret replaced by its kind, as in "[secret: api key]"; masking twice changes nothing more.

    Args:
        text: as it came through the door (`require_text`).

    >>> mask("my password is hunter2, my card 4111 1111 1111 1111").text
    'my password is [secret: password], my card [secret: card number]'
    """
    # A mask names a kind, and that would announce what stands behind it.
    blank = _MASKED.sub(_blank, text)
    found = _apart([*_all(blank), *_through_invisible(blank)], text)
    if not found:
        return Masked(text)
    pieces: list[str] = []
    at = 0
    for one in found:
        pieces += text[at : one.start], _mask_of(one.kind)
        at = one.end
    return Masked("".join([*pieces, text[at:]]), tuple(dict.fromkeys(one.kind for one in found)))


def _blank(mask: regex.Match[str]) -> str:
    return HIDDEN * len(mask[0])


def _mask_of(kind: str) -> str:
    return f"[secret: {kind}]"


def _all(text: str) -> Iterator[Found]:
    yield from secrets_by_form(text)
    yield from card_numbers(text)
    yield from personal_numbers(text)
    yield from announced_secrets(text)


def _through_invisible(text: str) -> Iterator[Found]:
    """What is found once the signs that nobody sees are left out, at its places in the text with them."""
    if not _INVISIBLE.search(text):
        return
    gone = [match.start() for match in _INVISIBLE.finditer(text)]
    # Before the n-th sign that is left out, n others were.
    before = [place - number for number, place in enumerate(gone)]

    def place_of(place: int) -> int:
        return place + bisect_right(before, place)

    for one in _all(_INVISIBLE.sub("", text)):
        yield Found(place_of(one.start), place_of(one.end - 1) + 1, one.kind)


def _apart(found: Iterable[Found], text: str) -> list[Found]:
    """In order, without overlaps; what two saw is one, named by who saw it begin first, or else by who saw more.
    What is masked already is left alone.
    """
    masks = [(match.start(), match.end()) for match in _MASKED.finditer(text)]
    kept: list[Found] = []
    passed = 0
    for one in sorted(found, key=lambda each: (each.start, -each.end)):
        while passed < len(masks) and masks[passed][1] <= one.start:
            passed += 1
        if passed < len(masks) and masks[passed][0] < one.end:
            continue
        if kept and one.start < kept[-1].end:
            last = kept[-1]
            kept[-1] = Found(last.start, max(last.end, one.end), last.kind)
        else:
            kept.append(one)
    return kept


def masked_json(value: object) -> object:
    """JSON with the secrets in it masked: those of every text and name, card numbers that are numbers, and whatever
    stands under a name that announces a secret, as in {"pin": 4921}.

    >>> masked_json({"dbPassword": "fish", "cards": [4111111111111111]})
    {'dbPassword': '[secret: password]', 'cards': ['[secret: card number]']}
    """
    if isinstance(value, str):
        return mask(value).text
    if isinstance(value, Mapping):
        return masked_fields({str(name): item for name, item in value.items()})
    if isinstance(value, list | tuple):
        return [masked_json(item) for item in value]
    if isinstance(value, int) and abs(value) >= LEAST_CARD:
        return next(map(_mask_of, mask(str(value)).kinds), value)
    return value


def masked_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields of a JSON object, masked as by `masked_json`; two names that were secrets stay two."""
    masked: dict[str, object] = {}
    for name, value in fields.items():
        plain = kept = mask(name).text
        number = 1
        while kept in masked:
            number += 1
            kept = f"{plain} {number}"
        if kind := kind_of_field(name):
            masked[kept] = _hidden(value, kind)
        else:
            other = isinstance(value, int) and OTHER_NUMBER.search(name)
            masked[kept] = value if other else masked_json(value)
    return masked


def _hidden(value: object, kind: str) -> object:
    """A value that is a secret whatever it looks like; only what holds nothing stays, and what says yes or no."""
    if isinstance(value, Mapping):
        return {name: _hidden(item, kind) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(item, kind) for item in value]
    if value is None or isinstance(value, bool) or value == "" or (isinstance(value, str) and _MASKED.fullmatch(value)):
        return value
    return _mask_of(kind)
