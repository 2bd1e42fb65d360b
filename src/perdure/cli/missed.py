"""`--why-not ID` of `recall` and `search`: where one memory fell out, for people and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from perdure.cli.as_data import hit_data, optional_id
from perdure.cli.hits import show_hit
from perdure.cli.ids import memory_id

if TYPE_CHECKING:
    from perdure.cli.call import Call
    from perdure.cli.printing import Screen
    from perdure.memory import Memory
    from perdure.types import GateReading, WhyNot

AHEAD_SHOWN: Final = 10


def tell_why_not(call: Call, written: str, text: str, audience: str | None, **asked: Any) -> int:
    """Asks and tells where the memory of that id fell out; `asked` are the other arguments of `Space.why_not`."""
    wanted = memory_id(written)

    async def work(memory: Memory) -> WhyNot:
        return await call.space(memory, audience).why_not(wanted, text, **asked)

    found = call.run(work, warm=True)
    call.answer(why_not_data(found, call.space_name), lambda screen: _show(screen, found))
    return 0


def why_not_data(found: WhyNot, space: str) -> dict[str, object]:
    """All of it, as `--json` prints it."""
    gate = found.gate
    return {
        "space": space,
        "id": str(found.memory_id),
        "query": found.query,
        "fate": found.fate,
        "detail": found.detail,
        "place": found.place,
        "visible": found.visible,
        "limit": found.limit,
        "arms": dict(found.arms),
        "ahead": [{"id": str(other), "score": score} for other, score in found.ahead],
        "gate": None
        if gate is None
        else {
            "cosine": gate.cosine,
            "noise": gate.noise,
            "words": list(gate.words),
            "share": gate.share,
            "name": gate.name,
            "asks": gate.asks,
            "passed": gate.passed,
        },
        "superseded_by": optional_id(found.superseded_by),
        "filters": list(found.filters),
        "memory": None if found.hit is None else hit_data(found.hit),
    }


def _show(screen: Screen, found: WhyNot) -> None:
    screen.line((f"#{found.memory_id} ", "bold cyan"), (found.fate.replace("_", " "), "bold"), f": {found.detail}")
    if found.place is not None and found.visible is not None:
        arms = "".join(f", {arm} {place:,}" for arm, place in found.arms.items())
        screen.line(f"place {found.place:,} of {found.visible:,} by the formula{arms}", indent=3)
    if found.gate is not None:
        screen.line(_gate_line(found.gate), indent=3)
    if found.ahead:
        returned = ", ".join(f"#{other} ({score:.3f})" for other, score in found.ahead[:AHEAD_SHOWN])
        more = f" and {len(found.ahead) - AHEAD_SHOWN} more" if len(found.ahead) > AHEAD_SHOWN else ""
        screen.line(f"returned: {returned}{more}", indent=3)
    if found.hit is not None:
        show_hit(screen, found.hit, found.query, explain=True)


def _gate_line(gate: GateReading) -> str:
    shared = ", ".join((*gate.words, *(["a name"] if gate.name else []))) or "nothing"
    noise = "nobody knows" if gate.noise is None else f"{gate.noise:.3f}"
    return f"gate: cosine {gate.cosine:.3f}, noise {noise}; shared with the message: {shared} ({gate.share:.0%})"
