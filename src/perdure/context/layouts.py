"""Layouts: which block stands in which slot of the host's prompt, as data.

`native` is a system text and a message before the user's own. Front ends for role play have slots of their own names;
`preset` fills those, and a host may bring another layout as JSON:

    {"name": "mine", "slots": [{"name": "system", "role": "system", "blocks": ["instructions", "identity", ...]}, ...]}

Whatever the layout, what is stable comes first, so that it can be cached, and recalled facts stand right before the
documents in what isn't.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from perdure.errors import InvalidInput


class BlockName(StrEnum):
    """The blocks of a prompt in their order; KNOWLEDGE_RECALLED_MEMORIES is the mission's name."""

    INSTRUCTIONS = "instructions"
    IDENTITY = "identity"
    TRAITS = "traits"
    SERVER_MEMORIES = "server_memories"
    PARTICIPANTS = "participants"
    KNOWLEDGE_RECALLED_MEMORIES = "KNOWLEDGE_RECALLED_MEMORIES"
    DOCUMENTS = "documents"
    MEMORIES = "memories"
    PENDING = "pending"
    CLOCK = "clock"


STABLE: Final = frozenset({
    BlockName.INSTRUCTIONS,
    BlockName.IDENTITY,
    BlockName.TRAITS,
    BlockName.SERVER_MEMORIES,
    BlockName.PARTICIPANTS,
})  # fmt: skip
"""Blocks that are the same from turn to turn as long as nothing was learned: the part of a prompt that is cached."""

Role = Literal["system", "user"]
_ROLES: Final[Mapping[str, Role]] = {"system": "system", "user": "user"}
MAX_SLOTS: Final = 32
MAX_NAME: Final = 64
_FIELD: Final = "layout"


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the host's prompt, the role of its message, and the blocks that stand there, in this order."""

    name: str
    role: Role
    blocks: tuple[BlockName, ...]

    @property
    def cacheable(self) -> bool:
        return STABLE.issuperset(self.blocks)


@dataclass(frozen=True, slots=True)
class Layout:
    """Slots in the order in which a model reads them. Raises InvalidInput where they break a rule of the prompt."""

    name: str
    slots: tuple[Slot, ...]

    def __post_init__(self) -> None:
        _require_names("the layout", [self.name])
        _require_names("a slot", [slot.name for slot in self.slots])
        _require_every_block_once([block for slot in self.slots for block in slot.blocks])
        _require_order(self.slots)


def require_layout(given: object) -> Layout:
    """A layout by its name, as data (a mapping, or JSON text beginning with a brace), or as it is.

    Raises:
        InvalidInput: it names what is wrong with it.
    """
    if isinstance(given, Layout):
        return given
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(_FIELD, given, f"it has to be JSON ({error})") from None
    if isinstance(given, Mapping):
        return _read(given)
    if not isinstance(given, str) or given not in LAYOUTS:
        raise InvalidInput(_FIELD, given, f"it has to be one of {', '.join(LAYOUTS)}, or a layout of your own")
    return LAYOUTS[given]


def _read(data: Mapping[object, object]) -> Layout:
    _require_keys(data, {"name", "slots"}, "a layout")
    slots = data["slots"]
    if not isinstance(slots, list) or not 1 <= len(slots) <= MAX_SLOTS:
        raise InvalidInput(_FIELD, slots, f"`slots` has to be a list of 1 to {MAX_SLOTS} slots")
    name = data["name"]
    return Layout(name if isinstance(name, str) else "", tuple(map(_slot, slots)))


def _slot(data: object) -> Slot:
    if not isinstance(data, Mapping):
        raise InvalidInput(_FIELD, data, "a slot has to be an object with name, role and blocks")
    _require_keys(data, {"name", "role", "blocks"}, "a slot")
    name, role, blocks = data["name"], _ROLES.get(str(data["role"])), data["blocks"]
    if role is None:
        raise InvalidInput(_FIELD, data["role"], "the role of a slot has to be system or user")
    if not isinstance(blocks, list):
        raise InvalidInput(_FIELD, blocks, "the blocks of a slot have to be a list")
    return Slot(name if isinstance(name, str) else "", role, tuple(map(_block, blocks)))


def _block(name: object) -> BlockName:
    if not isinstance(name, str) or name not in set(BlockName):
        raise InvalidInput(_FIELD, name, f"the blocks are {', '.join(BlockName)}")
    return BlockName(name)


def _require_keys(data: Mapping[object, object], keys: set[str], what: str) -> None:
    if set(data) != keys:
        raise InvalidInput(_FIELD, sorted(map(str, data)), f"{what} has exactly these names: {', '.join(sorted(keys))}")


def _require_names(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
            raise InvalidInput(_FIELD, name, f"the name of {what} has to be a text of 1 to {MAX_NAME} characters")
        if name in seen:
            raise InvalidInput(_FIELD, name, f"the name of {what} may stand there once only")
        seen.add(name)


def _require_every_block_once(blocks: list[BlockName]) -> None:
    for name in BlockName:
        if blocks.count(name) != 1:
            limit = "every block stands in exactly one slot; this one stands in"
            raise InvalidInput(_FIELD, str(name), f"{limit} {blocks.count(name)}")


def _require_order(slots: tuple[Slot, ...]) -> None:
    blocks = [block for slot in slots for block in slot.blocks]
    places = {block: place for place, block in enumerate(blocks)}
    if places[BlockName.DOCUMENTS] != places[BlockName.KNOWLEDGE_RECALLED_MEMORIES] + 1:
        raise InvalidInput(_FIELD, "documents", "it has to stand right behind KNOWLEDGE_RECALLED_MEMORIES")
    volatile = False
    for slot in slots:
        if not slot.cacheable and STABLE.intersection(slot.blocks):
            raise InvalidInput(_FIELD, slot.name, "a slot holds either stable blocks or such as change with every turn")
        if volatile and slot.cacheable and slot.blocks:
            raise InvalidInput(_FIELD, slot.name, "stable blocks have to stand before all that change with every turn")
        if not slot.cacheable and slot.role != "user":
            raise InvalidInput(_FIELD, slot.name, "what changes with every turn has to have the role user")
        volatile = volatile or not slot.cacheable


NATIVE: Final = Layout(
    "native",
    (
        Slot("system", "system", tuple(block for block in BlockName if block in STABLE)),
        Slot("tail", "user", tuple(block for block in BlockName if block not in STABLE)),
    ),
)
PRESET: Final = Layout(
    "preset",
    (
        Slot("system", "system", (BlockName.INSTRUCTIONS,)),
        Slot("world_info_before", "system", (BlockName.SERVER_MEMORIES,)),
        Slot("persona", "system", (BlockName.IDENTITY, BlockName.TRAITS)),
        Slot("world_info_after", "system", (BlockName.PARTICIPANTS,)),
        Slot(
            "chat_history_tail",
            "user",
            (
                BlockName.KNOWLEDGE_RECALLED_MEMORIES,
                BlockName.DOCUMENTS,
                BlockName.MEMORIES,
                BlockName.PENDING,
                BlockName.CLOCK,
            ),
        ),
    ),
)
LAYOUTS: Final = {layout.name: layout for layout in (NATIVE, PRESET)}
