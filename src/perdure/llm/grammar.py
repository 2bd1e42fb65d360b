"""GBNF, the grammars of llama.cpp, out of the one schema.

What a grammar admits parses and validates: keys in their order, no white space between tokens, every repetition
bounded, so that an answer always ends. Texts may hold any Unicode but control characters, and don't begin with white
space: what is left after cleaning is never empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from pydantic import BaseModel

from perdure.llm.schemas import json_schema

_MOST_VALUES: Final = 100
_ESCAPE: Final = r'"\\" ["\\]'
# Neither control characters, nor surrogates, nor the two signs that JSON wants escaped.
_CHAR: Final = rf'[ !#-\[\]-~\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF] | {_ESCAPE} | "\\n"'
# The same without white space and invisible signs.
_FIRST: Final = (
    r"[!#-\[\]-~\u00A1-\u167F\u1681-\u1FFF\u2010-\u2027\u2030-\u205E\u2070-\u2FFF\u3001-\uD7FF\uE000-\uFEFE"
    rf"\uFF00-\uFFFD\U00010000-\U0010FFFF] | {_ESCAPE}"
)
_SHARE: Final = '"0" ("." [0-9]{1,2})? | "1" (".0")?'


@cache
def gbnf(model: type[BaseModel]) -> str:
    """The grammar of all JSON forms of `model` that may be written: one rule a line, `root` first."""
    rules: dict[str, str] = {}
    root = _expression("root", json_schema(model), rules)
    return "".join(f"{name} ::= {rule}\n" for name, rule in {"root": root, **rules}.items())


def _expression(name: str, node: Mapping[str, Any], rules: dict[str, str]) -> str:
    """What a rule of that name says for a schema; rules it refers to are added to `rules`."""
    if "enum" in node:
        return _any_of(json.dumps(value) for value in node["enum"])
    match node["type"]:
        case "object":
            rule = _object(node["properties"], rules)
        case "array":
            item = _named(f"{name}-item", node["items"], rules)
            rule = f'"[" ({item} ("," {item}){{0,{node["maxItems"] - 1}}})? "]"'
        case "string":
            rule = _text(node, rules)
        case "boolean":
            rule = _any_of(("true", "false"))
        case "integer":
            values = range(node["minimum"], node["maximum"] + 1)
            assert len(values) <= _MOST_VALUES, "a wider range needs a rule of its own"
            rule = _any_of(map(str, values))
        case kind:
            assert (kind, node["minimum"], node["maximum"]) == ("number", 0, 1), "other numbers need a rule"
            rule = _SHARE
    return rule


def _object(fields: Mapping[str, Any], rules: dict[str, str]) -> str:
    parts = [f"{_literal(f'{json.dumps(key)}:')} {_named(key, field, rules)}" for key, field in fields.items()]
    return '"{" ' + ' "," '.join(parts) + ' "}"'


def _text(node: Mapping[str, Any], rules: dict[str, str]) -> str:
    if "pattern" in node:
        return rf'"\"" {node["pattern"].strip("^$")} "\""'
    rules.update({"any-first": _FIRST, "any-char": _CHAR})
    some = f"any-first any-char{{0,{node['maxLength'] - 1}}}"
    return rf'"\"" {some} "\""' if node.get("minLength") else rf'"\"" ({some})? "\""'


def _named(name: str, node: Mapping[str, Any], rules: dict[str, str]) -> str:
    """The name of the rule for a schema; equal rules of one name are one."""
    name = name.replace("_", "-")
    rule = _expression(name, node, rules)
    while rules.setdefault(name, rule) != rule:
        name += "-x"
    return name


def _any_of(words: Iterable[str]) -> str:
    return " | ".join(map(_literal, words))


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
