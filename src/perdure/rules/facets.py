"""Facets: what a filter asks for by equality, spelled as one key each, so that a btree answers it.

The same function spells the keys of a stored memory and those of a filter; texts come in already folded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping


def facet_keys(
    *,
    tags: Iterable[str] = (),
    source: str | None = None,
    speaker: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> tuple[str, ...]:
    """Sorted distinct facet keys: `tag:…`, `source:…`, `speaker:…`, `meta:<key>=<JSON value>`.

    `tags` and `speaker` are folded by the caller. Metadata values are compared as JSON scalars; nested values have no
    key, since filters ask for equality of scalars only.
    """
    keys = {f"tag:{tag}" for tag in tags if tag}
    if source is not None:
        keys.add(f"source:{source}")
    if speaker is not None:
        keys.add(f"speaker:{speaker}")
    for name, value in (metadata or {}).items():
        if value is None or isinstance(value, str | int | float | bool):
            keys.add(f"meta:{name}={json.dumps(value, ensure_ascii=False)}")
    return tuple(sorted(keys))
