"""Reading the checkout: which files there are, their syntax trees, their string literals."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Source:
    """A file by its path relative to the checkout, with forward slashes, and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=self.path)

    @property
    def module(self) -> str:
        """The dotted name under which `src/...` is imported."""
        parts = self.path.removeprefix("src/").removesuffix(".py").split("/")
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def within(self, *folders: str) -> bool:
        return any(self.path == folder or self.path.startswith(folder.rstrip("/") + "/") for folder in folders)


def read_sources(*folders: str, suffix: str = ".py", root: Path = ROOT) -> list[Source]:
    """All files with that suffix in the given folders, in the order of their paths."""
    return [
        Source(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        for folder in folders
        for path in sorted((root / folder).rglob(f"*{suffix}"))
        if "__pycache__" not in path.parts
    ]


def docstring_nodes(tree: ast.AST) -> set[ast.AST]:
    """Strings that stand alone as a statement: docstrings of modules, classes, functions and attributes."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr))
    }


@dataclass(frozen=True, slots=True)
class Literal:
    """A string in the code. In an f-string every replaced part stands as `{}`."""

    line: int
    text: str
    is_fstring: bool
    node: ast.AST


def literals(tree: ast.AST) -> Iterator[Literal]:
    """Every string literal that is not a docstring, f-strings as one piece."""
    skipped = docstring_nodes(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
    for node in ast.walk(tree):
        if node in skipped and not isinstance(node, ast.JoinedStr):
            continue
        if isinstance(node, ast.JoinedStr) and node not in skipped:
            yield Literal(node.lineno, _joined_text(node), is_fstring=True, node=node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield Literal(node.lineno, node.value, is_fstring=False, node=node)


def _joined_text(node: ast.JoinedStr) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


class Names:
    """What the names at the top of a module stand for, so that `from time import time as t` is still `time.time`."""

    def __init__(self, tree: ast.AST) -> None:
        self._imported: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._imported[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self._imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def dotted(self, node: ast.AST) -> str | None:
        """The full dotted name of an expression such as `dt.datetime.now`, or None if it starts from no import."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._imported:
            return None
        return ".".join([self._imported[node.id], *reversed(parts)])


def imports(source: Source) -> Iterator[tuple[int, str, str | None]]:
    """Every import as (line, module, name); `import a.b` has no name, relative imports are made absolute."""
    package = source.module.split(".")
    if not source.path.endswith("/__init__.py"):
        package = package[:-1]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, None
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, module, alias.name
