"""Reads the grammars that Perdure writes (GBNF without recursion): draws sentences from them, and tests sentences."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""\s*(?:(?P<literal>"(?:[^"\\]|\\.)*")|(?P<charset>\[(?:[^\]\\]|\\.)*\])|(?P<name>[a-z][a-z0-9-]*)"""
    r"""|(?P<repeat>\{\d+,\d+\}|\?)|(?P<sign>[()|]))"""
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-F]{4})|U([0-9A-F]{8})|(.))")


@dataclass(frozen=True)
class Literal:
    text: str


@dataclass(frozen=True)
class Charset:
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    options: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    part: Node
    least: int
    most: int


Node = Literal | Charset | Sequence | Choice | Repeat


def parse(grammar: str) -> Node:
    """The rule `root` with every other rule put in its place."""
    return _Rules(grammar).rule("root")


class _Rules:
    def __init__(self, grammar: str) -> None:
        self._right_sides = dict(line.split(" ::= ", 1) for line in grammar.splitlines() if line)

    def rule(self, name: str) -> Node:
        tokens = _tokens(self._right_sides[name])
        node = self._choice(tokens)
        assert not tokens, f"{name}: {tokens}"
        return node

    def _choice(self, tokens: list[tuple[str, str]]) -> Node:
        options = [self._sequence(tokens)]
        while tokens and tokens[0] == ("sign", "|"):
            tokens.pop(0)
            options.append(self._sequence(tokens))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self, tokens: list[tuple[str, str]]) -> Node:
        parts: list[Node] = []
        while tokens and tokens[0] not in {("sign", "|"), ("sign", ")")}:
            part = self._one(tokens)
            if tokens and tokens[0][0] == "repeat":
                bounds = tokens.pop(0)[1]
                least, most = (0, 1) if bounds == "?" else map(int, bounds[1:-1].split(","))
                part = Repeat(part, least, most)
            parts.append(part)
        return Sequence(tuple(parts))

    def _one(self, tokens: list[tuple[str, str]]) -> Node:
        kind, text = tokens.pop(0)
        if kind == "literal":
            return Literal(_unescape(text[1:-1]))
        if kind == "charset":
            return Charset(_ranges(text[1:-1]))
        if kind == "name":
            return self.rule(text)
        assert (kind, text) == ("sign", "("), text
        part = self._choice(tokens)
        assert tokens.pop(0) == ("sign", ")")
        return part


def draw(node: Node, rng: random.Random, *, ends: bool = False) -> str:
    """A sentence of the grammar; with `ends`, repetitions and ranges are at one of their ends."""
    match node:
        case Literal(text):
            return text
        case Charset(ranges):
            low, high = rng.choice(ranges)
            return chr(rng.choice((low, high)) if ends else rng.randint(low, high))
        case Sequence(parts):
            return "".join(draw(part, rng, ends=ends) for part in parts)
        case Choice(options):
            return draw(rng.choice(options), rng, ends=ends)
        case Repeat(part, least, most):
            times = rng.choice((least, most)) if ends else rng.randint(least, min(most, least + 20))
            return "".join(draw(part, rng, ends=ends) for _ in range(times))


def longest(node: Node) -> int:
    """Characters of the longest sentence, as written: an escaped sign is two."""
    match node:
        case Literal(text):
            return len(text)
        case Charset():
            return 1
        case Sequence(parts):
            return sum(map(longest, parts))
        case Choice(options):
            return max(map(longest, options))
        case Repeat(part, _, most):
            return most * longest(part)


def pattern(grammar: str) -> re.Pattern[str]:
    """A regular expression that matches exactly the sentences of the grammar."""
    return re.compile(_pattern(parse(grammar)), re.DOTALL)


def _pattern(node: Node) -> str:
    match node:
        case Literal(text):
            return re.escape(text)
        case Charset(ranges):
            return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"
        case Sequence(parts):
            return "".join(map(_pattern, parts))
        case Choice(options):
            return f"(?:{'|'.join(map(_pattern, options))})"
        case Repeat(part, least, most):
            return f"(?:{_pattern(part)}){{{least},{most}}}"


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, place = [], 0
    while place < len(text.rstrip()):
        found = _TOKEN.match(text, place)
        assert found, text[place:]
        tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
        place = found.end()
    return tokens


def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    signs = [
        (_unescape(found[0]), found[0] == "-") for found in re.finditer(r"\\u.{4}|\\U.{8}|\\.|.", text, flags=re.DOTALL)
    ]
    ranges, place = [], 0
    while place < len(signs):
        low = high = ord(signs[place][0])
        if place + 2 < len(signs) and signs[place + 1][1]:
            high, place = ord(signs[place + 2][0]), place + 2
        ranges.append((low, high))
        place += 1
    return tuple(ranges)


def _unescape(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        return chr(int(code, 16)) if code else {"n": "\n"}.get(found[3], found[3])

    return _ESCAPE.sub(one, text)
