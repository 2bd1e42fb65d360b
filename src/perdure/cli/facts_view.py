"""Facts as the command line shows them, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.printing import local, moment

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.fact_types import Fact, FactChange, ListedFact


def fact_row(listed: ListedFact) -> tuple[str, ...]:
    """One line of a list: id, whom it is about, lineage, stage, days that it has not been needed, text."""
    fact = listed.fact
    stage = f"{listed.stage}, pinned" if fact.pinned else str(listed.stage)
    return (str(fact.id), _about(fact), str(fact.scope.lineage or "every"), stage, str(fact.decay_days), fact.content)


def show_fact(screen: Screen, listed: ListedFact) -> None:
    """All of one fact."""
    fact = listed.fact
    screen.line((str(fact.id), "bold"), f"  {fact.content}")
    lines = {
        "about": _about(fact),
        "known to": "every persona" if fact.scope.lineage == 0 else f"lineage {fact.scope.lineage}",
        "stage": f"{listed.stage}{', pinned' if fact.pinned else ''}, not needed on {fact.decay_days} counted days",
        "tags": ", ".join(fact.tags),
        "channels": ", ".join(fact.channel_ids),
        "taught by": fact.taught_by or "",
        "since": f"{local(fact.created_at)}, revision {fact.revision} of {local(fact.updated_at)}",
        "evidence": ", ".join(f"{name} {value}" for name, value in fact.evidence.items()),
    }
    for name, value in lines.items():
        if value:
            screen.line((f"{name:<10}", "dim"), value, indent=2)


def change_row(change: FactChange) -> tuple[str, ...]:
    """One line of a history."""
    return str(change.revision), local(change.changed_at), change.action, change.changed_by, change.content


def fact_data(listed: ListedFact) -> dict[str, object]:
    """A fact as JSON."""
    fact = listed.fact
    return {
        "id": str(fact.id),
        "about": _about(fact),
        "lineage": fact.scope.lineage,
        "stage": str(listed.stage),
        "content": fact.content,
        "tags": list(fact.tags),
        "channels": list(fact.channel_ids),
        "pinned": fact.pinned,
        "taught_by": fact.taught_by,
        "evidence": dict(fact.evidence),
        "decay_days": fact.decay_days,
        "last_counted_day": fact.last_counted_day.isoformat() if fact.last_counted_day else None,
        "revision": fact.revision,
        "created_at": moment(fact.created_at),
        "updated_at": moment(fact.updated_at),
    }


def change_data(change: FactChange) -> dict[str, object]:
    """A change as JSON."""
    return {
        "revision": change.revision,
        "action": change.action,
        "changed_at": moment(change.changed_at),
        "changed_by": change.changed_by,
        "content": change.content,
        "tags": list(change.tags),
        "channels": list(change.channel_ids),
        "pinned": change.pinned,
    }


def _about(fact: Fact) -> str:
    from perdure.ltm import spoken_about  # noqa: PLC0415 - the driver; `--help` does without it

    return spoken_about(fact.scope.kind, fact.scope.owner)
