"""Words on the terminal: safe to look at, plain in a pipe, aligned in any script.

What memories say was written by others. It is printed as it is, but nothing in it can speak to the terminal: control
characters, escape sequences and marks that reorder a line are shown as escapes, and rich's markup is never read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_SPEAKS_TO_TERMINAL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f"  # C0 without line feed, DEL, C1
    "\u2028\u2029"  # line and paragraph separator
    "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates, which reorder what stands beside them
    "\ud800-\udfff\ufeff\U000e0000-\U000e007f]"  # lone surrogates, byte order mark, invisible tags
)
_GAP = 2
_LEAST_CUT = 20
_WIDE_ENOUGH = 1_000_000
"""Columns of a pipe: whoever reads it gets whole lines."""


def printable(text: str) -> str:
    """The text with what would speak to a terminal as visible escapes; line feeds stay, a tab is a space."""
    return _SPEAKS_TO_TERMINAL.sub(_escape, text.replace("\r\n", "\n").replace("\t", " "))


def one_line(text: str) -> str:
    """As `printable`, on one line."""
    return " ".join(printable(text).split())


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def moment(time: datetime) -> str:
    """A time as `--json` prints it: ISO 8601 in UTC."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def local(time: datetime) -> str:
    """A time as people read it: to the minute, in this machine's zone."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M")


def print_json(document: Mapping[str, object]) -> None:
    """The one document of a command with `--json`, on stdout."""
    escaped = (sys.stdout.encoding or "").replace("-", "").lower() != "utf8"
    text = json.dumps(document, ensure_ascii=escaped, indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")


class Screen:
    """Stdout for people: colours and wrapping on a terminal, whole plain lines anywhere else."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - `--json` and `--help` do without it

        terminal = Console(highlight=False, markup=False, emoji=False)
        is_terminal = terminal.is_terminal
        self.console: Console = (
            terminal
            if is_terminal
            else Console(highlight=False, markup=False, emoji=False, color_system=None, width=_WIDE_ENOUGH)
        )

    def line(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        """One line, or a paragraph if it has to wrap; a part is text, or (text, style)."""
        from rich.padding import Padding  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        text = Text(overflow="fold")
        for part in parts:
            words, style = (part, "") if isinstance(part, str) else part
            text.append(printable(words), style)
        self.console.print(Padding(text, (0, 0, 0, indent), expand=False) if indent else text)

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
        """Columns, aligned by the width that characters take; the last one is cut where a terminal's line ends."""
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        cells = [[Text(one_line(cell)) for cell in row] for row in rows]
        widths = [max(len(head), *(row[n].cell_len for row in cells)) for n, head in enumerate(heads[:-1])]
        left = max(_LEAST_CUT, self.console.width - sum(widths) - _GAP * len(widths))
        if not self.console.is_terminal:
            self._plain_table(heads, cells, right)
            return
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        for number, head in enumerate(heads):
            table.add_column(Text(head), no_wrap=True, justify="right" if number in right else "left")
        for row in cells:
            row[-1].truncate(left, overflow="ellipsis")
            table.add_row(*row)
        self.console.print(table)

    def _plain_table(self, heads: Sequence[str], cells: Sequence[Sequence[Text]], right: Sequence[int]) -> None:
        """Aligned as on a terminal, without a blank after what stands last in a line."""
        from rich.text import Text  # noqa: PLC0415

        rows = [[Text(head) for head in heads], *cells]
        widths = [max(row[n].cell_len for row in rows) for n in range(len(heads))]
        for row in rows:
            blanks = [" " * (width - cell.cell_len) for cell, width in zip(row, widths, strict=True)]
            spelled = [
                blank + cell.plain if number in right else cell.plain + blank
                for number, (cell, blank) in enumerate(zip(row, blanks, strict=True))
            ]
            self.console.print(Text((" " * _GAP).join(spelled).rstrip()), soft_wrap=True)


def tell(text: str) -> None:
    """A line about progress, on stderr."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()
