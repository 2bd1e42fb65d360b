"""Facets: a filter and a memory spell the same property the same way, and different ones never alike."""

from __future__ import annotations

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
