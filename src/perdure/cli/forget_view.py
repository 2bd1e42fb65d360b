"""What forgetting would do and has done, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from perdure.cli.printing import Screen, moment, one_line
from perdure.cli.words import counted

if TYPE_CHECKING:
    from perdure.ingest import Preview, Receipt
    from perdure.types import StoredMemory

SHOWN: Final = 20
"""Memories that are shown with their words; all are counted."""
FACTS: Final = ("server_memories", "personal_memories")


def preview_data(preview: Preview) -> dict[str, object]:
    """A preview as JSON."""
    return {
        "would_erase": _ids(preview.ids),
        "concluded": _ids(preview.concluded),
        "removed": dict(preview.removed),
        "facts": [str(fact) for fact in preview.facts],
        "names": list(preview.names),
        "shared_names": list(preview.shared),
        "named_in": _ids(preview.named_in),
        "sources": list(preview.sources),
    }


def preview_lines(preview: Preview, shown: list[StoredMemory]) -> list[str]:
    """What would go, line by line; `shown` are the first of its memories, as far as they aren't pruned."""
    words = {memory.id: one_line(memory.summary)[:200] for memory in shown}
    lines = []
    for each in preview.ids[:SHOWN]:
        mark = "  (concluded)" if each in preview.concluded else ""
        lines.append(f"#{each}  {words.get(each, 'pruned')}{mark}")
    if len(preview.ids) > SHOWN:
        lines.append(f"... and {len(preview.ids) - SHOWN:,} more.")
    if preview.names:
        lines.append(f"Known by: {', '.join(preview.names)}.")
    if preview.shared:
        lines.append(
            f"Somebody else bears these names, too, so what was said under them stays: {_list(preview.shared)}."
        )
    if preview.named_in:
        lines.append(f"Others name them in {_list(f'#{each}' for each in preview.named_in)}; these stay.")
    if preview.removed:
        lines.append(f"Rows: {_counts(preview.removed)}.")
    if preview.sources:
        lines.append(f"Memories came from: {', '.join(preview.sources)}.")
    return lines


def receipt_data(receipt: Receipt) -> dict[str, object]:
    """A receipt as JSON."""
    remains = receipt.remains
    left: dict[str, Any] | None = None
    if remains is not None:
        left = {name: getattr(remains, name) for name in remains.__slots__}
        left |= {"at": moment(remains.at), "wal_until": moment(remains.wal_until)}
        left |= {name: list(left[name]) for name in ("vacuumed", "unvacuumed")}
    return {
        "erased": _ids(receipt.ids),
        "facts": [str(fact) for fact in receipt.facts],
        "removed": dict(receipt.removed),
        "rewritten": dict(receipt.rewritten),
        "again": _ids(receipt.again),
        "remains": left,
    }


def show_receipt(screen: Screen, receipt: Receipt, space: str) -> None:
    """The receipt: what went, in one line, and the rest below."""
    removed = receipt.removed
    facts = sum(removed.get(name, 0) for name in FACTS)
    said = [counted(removed.get("memories", 0) or len(receipt.ids), "memory", "memories")]
    if facts:
        said.append(counted(facts, "fact"))
    if documents := removed.get("documents", 0):
        said.append(counted(documents, "document"))
    if "spaces" in removed:
        screen.line(f"Erased the space {space}: {', '.join(said)}, and all else that was in it.")
    else:
        screen.line(f"Erased {_and(said)} from space {space}.")
    for line in receipt_lines(receipt):
        screen.line(f"  {line}")


def receipt_lines(receipt: Receipt) -> list[str]:
    """What stands below the first line."""
    lines = []
    if 0 < len(receipt.ids) <= SHOWN:
        lines.append(f"Memories: {', '.join(f'#{each}' for each in receipt.ids)}")
    if receipt.removed:
        lines.append(f"Removed rows: {_counts(receipt.removed)}")
    if receipt.rewritten:
        lines.append(f"Rows rid of words or pointers: {_counts(receipt.rewritten)}")
    if receipt.again:
        lines.append(f"Concluded anew from: {_list(f'#{each}' for each in receipt.again)}")
    remains = receipt.remains
    if remains is None or not receipt.removed:
        return lines
    lines += [
        f"Dead rows: {remains.dead_rows}",
        f"Free space: {remains.pages}",
        f"Log: {remains.wal}",
        f"Replicas: {remains.replicas}",
        f"Backups: {remains.backups}",
    ]
    if remains.run:
        lines.append(f"To do: {remains.run}")
    return lines


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items())


def _list(items: Any) -> str:
    every = list(items)
    more = f" and {len(every) - SHOWN:,} more" if len(every) > SHOWN else ""
    return ", ".join(every[:SHOWN]) + more


def _and(said: list[str]) -> str:
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _ids(ids: tuple[int, ...]) -> list[str]:
    return [str(number) for number in ids]
