"""Numbers that others can do harm with: of bank accounts, and those by which a state or an insurance knows a person.

An account number tells itself by its check digits. The others look like any number, so a word has to announce them;
only that of the United States has a form of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import regex

from perdure.text.secret_cards import OTHER_NUMBER
from perdure.text.secret_kinds import ACCOUNT_NUMBER, HIDDEN, ID_NUMBER, Found, found_value

_IBAN: Final = regex.compile(
    r"(?<![\w/-])[A-Z]{2}\d{2}(?:[ \u00a0\u202f-]?[A-Z0-9]{4}){2,7}+(?:[ \u00a0\u202f-]?[A-Z0-9]{1,3})?+(?![\w/])",
    regex.IGNORECASE,
)
_PARTING: Final = regex.compile(r"[ \u00a0\u202f-]")
LEAST_IBAN, MOST_IBAN = 15, 34
"""Characters of an account number (ISO 13616); the shortest is Norway's."""
_CHECKED: Final = 97

_SSN: Final = regex.compile(r"(?<![\w./-])(?!000|666|9\d\d)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w/-])(?!\.\d)")
"""Area, group and serial number, none of them zero (Social Security Administration)."""

_NAMES: Final = """
    ssn|social security(?: number| no\\.?)?|national insurance(?: number)?|passport(?: number| no\\.?)|id card number
    |driver'?s licen[cs]e(?: number)?|tax (?:id|number)|sozialversicherungsnummer|steuer-?id(?:entifikationsnummer)?
    |steuernummer|personalausweis(?:nummer)?|ausweisnummer|reisepassnummer|num[ée]ro de s[ée]curit[ée] sociale
    |num[ée]ro de passeport|num[ée]ro fiscal|codice fiscale|numero di passaporto|carta d'identit[àa]|dni|nie|nif
    |n[úu]mero de (?:la )?seguridad social|n[úu]mero de pasaporte|cpf|n[úu]mero do passaporte|bsn|burgerservicenummer
    |pesel|инн|снилс|номер паспорта|паспорт|身份证号码?|身份證號碼?|护照号码?|護照號碼?|マイナンバー|주민등록번호
    |aadhaar(?: number)?|t\\.?c\\.? kimlik(?: no| numaras[ıi]m?)?
"""
_PLAIN: Final = "".join(line.strip() for line in _NAMES.splitlines()).replace("\\\\", "\\")
_ANNOUNCED: Final = regex.compile(
    rf"(?<![\p{{Latin}}\p{{Cyrillic}}\p{{N}}])(?:{_PLAIN})(?![\p{{Latin}}\p{{Cyrillic}}\p{{N}}])"
    rf"(?:(?!{HIDDEN}{{9}})[^\d\n.;!?]){{0,24}}?"
    r"(?P<value>(?:(?<![A-Z])[A-Z]{1,6}+)?(?<!\d)\d[\dA-Z]*+"
    r"(?:[ ./-]?(?:[A-Z]{0,2}\d[\dA-Z]*+|[A-Z](?=[ -]?\d))){0,10}+)",
    regex.IGNORECASE,
)
_CUES: Final = (
    "ssn", "social sec", "insurance", "passport", "card number", "licen", "tax ", "sozialvers", "steuer", "ausweis",
    "reisepass", "curit", "passeport", "fiscal", "passaporto", "identit", "dni", "nie", "nif", "seguridad", "pasaporte",
    "cpf", "bsn", "burgerservice", "pesel", "инн", "снилс", "паспорт", "身份", "护照", "護照", "ナンバー", "주민",
    "aadhaar", "kimlik",
)  # fmt: skip
LEAST_DIGITS: Final = 6
"""Fewer digits than this are the number of a room, a year, a form."""


def personal_numbers(text: str) -> Iterator[Found]:
    """Account numbers whose check digits are right, and numbers that a word says a person is known by."""
    for match in _IBAN.finditer(text):
        end = _iban_end(match[0])
        if end:
            yield Found(match.start(), match.start() + end, ACCOUNT_NUMBER)
    for match in _SSN.finditer(text):
        if not OTHER_NUMBER.search(text, max(0, match.start() - 24), match.start()):
            yield Found(match.start(), match.end(), ID_NUMBER)
    lowered = text.casefold()
    if any(cue in lowered for cue in _CUES):
        for match in _ANNOUNCED.finditer(text):
            if sum(map(str.isdigit, match["value"])) >= LEAST_DIGITS:
                yield found_value(match, ID_NUMBER)


def _iban_end(written: str) -> int:
    """How much of this is an account number, 0 if nothing: a word of four letters may follow it."""
    pieces = [match.start() for match in _PARTING.finditer(written)]
    for end in (len(written), *reversed(pieces)):
        plain = _PARTING.sub("", written[:end]).upper()
        if LEAST_IBAN <= len(plain) <= MOST_IBAN and plain.isascii() and is_iban(plain):
            return end
    return 0


def is_iban(plain: str) -> bool:
    """Whether the check digits of an account number without spaces are right (ISO 7064, MOD 97-10).

    >>> is_iban("DE89370400440532013000"), is_iban("DE88370400440532013000")
    (True, False)
    """
    turned = plain[4:] + plain[:4]
    return int("".join(str(int(sign, 36)) for sign in turned)) % _CHECKED == 1
