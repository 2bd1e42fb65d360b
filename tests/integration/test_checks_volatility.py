"""The list of functions that the SQL checks allow in writes says what the running server says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from checks.sql.volatility import IMMUTABLE, NOW, VOLATILE

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

VOLATILITIES = """
    SELECT proname, array_agg(DISTINCT provolatile::text)
    FROM pg_catalog.pg_proc p
    WHERE proname = ANY(%s) AND prokind = 'f'
      AND pronamespace IN ('pg_catalog'::regnamespace, 'public'::regnamespace)
    GROUP BY proname
"""

OF_ONE_MAJOR_VERSION = frozenset({"uuidv4", "uuidv7", "random_normal"})
"""Forbidden for every server, known to newer ones only."""


def volatilities(urls: ServerUrls, names: frozenset[str]) -> dict[str, set[str]]:
    with psycopg.connect(urls.owner) as conn:
        return {name: set(kinds) for name, kinds in conn.execute(VOLATILITIES, [sorted(names)])}


def test_every_function_listed_as_immutable_is_so_in_all_its_forms(urls: ServerUrls) -> None:
    found = volatilities(urls, IMMUTABLE)
    assert {name: kinds for name, kinds in found.items() if kinds != {"i"}} == {}
    assert set(IMMUTABLE) - set(found) == set()


def test_every_function_listed_as_volatile_is_so(urls: ServerUrls) -> None:
    found = volatilities(urls, VOLATILE - OF_ONE_MAJOR_VERSION)
    assert {name for name, kinds in found.items() if "v" not in kinds} == set()
    assert VOLATILE - OF_ONE_MAJOR_VERSION - set(found) == set()


def test_functions_that_give_the_time_are_stable(urls: ServerUrls) -> None:
    assert {kind for kinds in volatilities(urls, NOW).values() for kind in kinds} == {"s"}
