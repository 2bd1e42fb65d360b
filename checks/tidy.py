"""Small things that are easy to forget: work left open, tests skipped in silence, files with more than one idea."""

from __future__ import annotations

import ast
import io
import re
import tokenize

from checks.report import Violation
from checks.sources import Source

LONGEST_FILE = 450
"""Lines; a longer file usually holds two ideas."""

_OPEN = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def long_files(source: Source) -> list[Violation]:
    """A warning, not a failure: some ideas are long."""
    lines = source.text.count("\n")
    if lines <= LONGEST_FILE:
        return []
    return [
        Violation(
            source.path, lines, "long-file", f"{lines} lines, more than {LONGEST_FILE}; fix by splitting it by idea."
        )
    ]


def open_ends(source: Source) -> list[Violation]:
    """Comments that announce work not done."""
    return [
        Violation(
            source.path,
            token.start[0],
            "open-end",
            f"{found[0]} in a comment; fix by doing it, or by filing it as an issue.",
        )
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline)
        if token.type == tokenize.COMMENT and (found := _OPEN.search(token.string))
    ]


def silent_skips(source: Source) -> list[Violation]:
    """Skipped or expected-to-fail tests that don't say why."""
    decorated = {id(node.func) for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
    found: list[Violation] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and (name := _pytest_skip(node.func)):
            reasons = [
                *node.args[1 if name == "mark.skipif" else 0 :],
                *(k.value for k in node.keywords if k.arg in {"reason", "msg"}),
            ]
            if not any(_says_something(reason) for reason in reasons):
                found.append(_silent(source, node.lineno, name))
        elif isinstance(node, ast.Attribute) and id(node) not in decorated and (name := _pytest_skip(node)):
            found.append(_silent(source, node.lineno, name))
    return found


def _silent(source: Source, line: int, name: str) -> Violation:
    return Violation(
        source.path,
        line,
        "silent-skip",
        f"pytest.{name} without a reason; fix by running the test, or by saying why it can't run.",
    )


def _pytest_skip(node: ast.AST) -> str | None:
    text = ast.unparse(node)
    name = text.removeprefix("pytest.")
    return name if text != name and name in {"mark.skip", "mark.skipif", "mark.xfail", "skip", "xfail"} else None


def _says_something(node: ast.expr) -> bool:
    return not isinstance(node, ast.Constant) or (isinstance(node.value, str) and bool(node.value.strip()))
