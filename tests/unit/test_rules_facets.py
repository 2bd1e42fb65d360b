"""Facets: a filter and a memory spell the same property the same way, and different ones never alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.facets import facet_keys

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))


def test_every_filterable_property_has_one_key() -> None:
    found = facet_keys(tags=["b", "a", "b", ""], source="email", speaker="ada", metadata={"room": "kitchen", "n": 1})
    assert found == ("meta:n=1", 'meta:room="kitchen"', "source:email", "speaker:ada", "tag:a", "tag:b")
    assert facet_keys() == ()


def test_nested_metadata_has_no_key() -> None:
    assert facet_keys(metadata={"list": [1], "map": {}}) == ()


@given(SCALARS, SCALARS)
def test_metadata_values_of_different_types_have_different_keys(one: object, other: object) -> None:
    same = type(one) is type(other) and one == other
    assert (facet_keys(metadata={"k": one}) == facet_keys(metadata={"k": other})) == same


@given(st.integers(1, 40_000), st.sampled_from(["tag", "source", "speaker", "value", "name"]))
def test_a_key_fits_into_an_index_however_long_the_value_is(length: int, place: str) -> None:
    long = "é" * length
    (key,) = {
        "tag": lambda text: facet_keys(tags=[text]),
        "source": lambda text: facet_keys(source=text),
        "speaker": lambda text: facet_keys(speaker=text),
        "value": lambda text: facet_keys(metadata={"k": text}),
        "name": lambda text: facet_keys(metadata={text: 1}),
    }[place](long)
    assert len(key.encode()) <= 410


def test_long_values_that_differ_in_their_last_letter_have_different_keys() -> None:
    assert facet_keys(metadata={"k": "x" * 5000 + "a"}) != facet_keys(metadata={"k": "x" * 5000 + "b"})
    assert facet_keys(tags=["x" * 5000]) != facet_keys(speaker="x" * 5000)


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (0, -0.0), (10**300, 1e300), (10**22, 1e22)])
def test_a_whole_number_has_one_key_however_it_is_written(one: int, other: float) -> None:
    assert facet_keys(metadata={"k": one}) == facet_keys(metadata={"k": other})
