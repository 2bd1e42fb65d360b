"""The filters that `search` and `list` share."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import click

from perdure.errors import InvalidInput


def filters(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the filter options; the command gets them as one dictionary `filters` of arguments for `Space`."""

    @click.option("--tag", "tags", multiple=True, metavar="TAG", help="Has this tag; repeated: all of them.")
    @click.option("--type", "memory_type", metavar="TYPE", help="fact, preference, event, identity, reflection, ...")
    @click.option("--source", metavar="SOURCE", help="user, conversation, import:NAME, ...")
    @click.option("--speaker", metavar="NAME", help="Said by this person.")
    @click.option("--conversation", "conversation_id", metavar="ID", help="From this conversation.")
    @click.option("--meta", multiple=True, metavar="KEY=VALUE", help="Metadata equals; VALUE may be JSON. Repeatable.")
    @click.option("--since", metavar="TIME", help="From this date or time on, ISO 8601.")
    @click.option("--until", metavar="TIME", help="Before this time; a bare date includes that day.")
    @functools.wraps(function)
    def command(
        *args: Any,
        tags: tuple[str, ...],
        memory_type: str | None,
        source: str | None,
        speaker: str | None,
        conversation_id: str | None,
        meta: tuple[str, ...],
        since: str | None,
        until: str | None,
        **options: Any,
    ) -> Any:
        chosen = {
            "tags": tags or None,
            "memory_type": memory_type,
            "source": source,
            "speaker": speaker,
            "conversation_id": conversation_id,
            "metadata": read_metadata(meta) or None,
            "since": since,
            "until": until,
        }
        return function(*args, filters=chosen, **options)

    return command


def read_metadata(pairs: Sequence[str]) -> dict[str, object]:
    """`key=value` pairs; what reads as a JSON number, true, false, null or string is that, anything else is text."""
    found: dict[str, object] = {}
    for pair in pairs:
        key, equals, written = pair.partition("=")
        if not equals or not key:
            raise InvalidInput("meta", pair, "it has to be KEY=VALUE")
        try:
            value = json.loads(written)
        except ValueError:
            value = written
        found[key] = value
    return found
