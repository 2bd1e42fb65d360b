"""Card numbers: digits in the ranges of the brands whose last one is right by the rule of Luhn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import regex

from perdure.text.secret_kinds import CARD_NUMBER, Found

_CARD: Final = regex.compile(
    r"(?<![\w.,+/=#-])(?:\d{13,19}|\d{4}([ .\u00a0\u2007\u2009\u202f-])\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?"
    r"|\d{4}([ .\u00a0\u2007\u2009\u202f-])\d{6}\2\d{4,5})"
    r"(?![\w/=-])(?!\.\d)"
)
_BRANDS: Final = regex.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}|9792\d{12}"
)
_LUHN_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
LEAST_CARD: Final = 10**12
"""Less than this has too few digits for a card."""
OTHER_NUMBER: Final = regex.compile(
    r"order|invoice|tracking|ref|ticket|booking|customer|shipment|parcel|bestell|rechnung|auftrag|sendung|kunden|pedido"
    r"|factura|envío|commande|facture|colis|ordine|fattura|fatura|bestelling|factuur|zamówieni|faktur|sipariş|заказ|счет"
    r"|订单|訂單|运单|注文|주문|송장",
    regex.IGNORECASE,
)
"""Words before the number of something else: of an order, a parcel, a customer."""
MAX_PHONE_DIGITS: Final = 14
_PHONE: Final = regex.compile(
    r"phone|mobile|handy|telefon|téléphone|teléfono|whatsapp|\b(?:tel|cell|fax|call|sms)\b|телефон|电话|電話|전화",
    regex.IGNORECASE,
)


def card_numbers(text: str) -> Iterator[Found]:
    """Numbers of cards, unless the word before them says that they are something else."""
    for match in _CARD.finditer(text):
        digits = "".join(str(int(sign)) for sign in match[0] if sign.isdigit())
        if len(set(digits)) == 1 or not _BRANDS.fullmatch(digits) or not passes_luhn(digits):
            continue
        before = max(0, match.start() - 24), match.start()
        if len(digits) <= MAX_PHONE_DIGITS and _PHONE.search(text, *before):
            continue
        if len(digits) == len(match[0]) and OTHER_NUMBER.search(text, *before):
            continue
        yield Found(match.start(), match.end(), CARD_NUMBER)


def passes_luhn(digits: str) -> bool:
    """Whether the last digit checks the others (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total += _LUHN_DOUBLED[int(digit)] if place % 2 else int(digit)
    return total % 10 == 0
