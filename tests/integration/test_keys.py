"""Keys: what is told once, what is kept of it, how long it holds, and that it ends when it is told to."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from perdure import Conflict, InvalidInput, Memory, NotFound
from perdure.acting import Scope
from perdure.store.database import Transaction
from perdure.store.keys import Admission, admit
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

DAY = timedelta(days=1)


@pytest.fixture
async def keyed(own_database, embedder: HashedEmbedder, noon: SkippingClock) -> AsyncIterator[Memory]:
    """A memory whose time stands still."""
    async with open_memory(own_database, embedder, clock=noon) as memory:
        yield memory


def a_name() -> str:
    return f"key-{secrets.token_hex(4)}"


async def admitted(memory: Memory, token: str) -> Admission | None:
    async def look(tx: Transaction) -> Admission | None:
        return await admit(tx, token)

    return await memory.resources.database.across(look)


async def test_a_key_lets_in_whoever_has_it_and_nobody_who_changed_a_letter(keyed: Memory) -> None:
    key, token = await keyed.create_key(a_name(), scopes=["write"], spaces=["ada"])
    found = await admitted(keyed, token)
    assert found is not None
    assert (found.key.id, found.key.spaces, found.seconds) == (key.id, ("ada",), float("inf"))
    assert found.key.scopes == (Scope.WRITE,)
    other = "A" if token[-1] != "A" else "B"
    mark, prefix, secret = token.split("_", 2)
    wrong = [
        token[:-1] + other,
        token[:-1],
        token + "A",
        f"{mark}_{prefix}_",
        f"{mark}__{secret}",
        f"{mark}_{'0' * 10}_{secret}",
        secret,
        "",
        "\0",
        "perdure_é_é",
        f"{mark}_{prefix}_{'x' * 5000}",
    ]
    assert [each for each in wrong if await admitted(keyed, each) is not None] == []


async def test_the_database_holds_no_secret(keyed: Memory, own_database) -> None:
    _, token = await keyed.create_key(a_name())
    _, again = await keyed.rotate_key((await keyed.keys())[-1].name)
    async with await psycopg.AsyncConnection.connect(own_database.owner) as connection:
        rows = await (await connection.execute("SELECT row_to_json(k)::text FROM api_keys k")).fetchall()
    told = "".join(str(row) for row in rows)
    for each in (token, again):
        assert each not in told
        assert each.split("_", 2)[2] not in told
        assert each.split("_", 2)[2].encode().hex() not in told


async def test_a_rotated_key_keeps_its_former_secret_for_the_grace_and_no_longer(
    keyed: Memory, noon: SkippingClock
) -> None:
    name = a_name()
    key, first = await keyed.create_key(name)
    rotated, second = await keyed.rotate_key(name, grace=timedelta(hours=2))
    assert (rotated.id, rotated.prefix) == (key.id, key.prefix)
    former = await admitted(keyed, first)
    assert former is not None
    assert former.seconds == 7200
    assert await admitted(keyed, second) is not None
    noon.advance(timedelta(hours=2))
    assert await admitted(keyed, first) is None
    assert await admitted(keyed, second) is not None


async def test_a_second_rotation_ends_the_first_secret_at_once(keyed: Memory) -> None:
    name = a_name()
    _, first = await keyed.create_key(name)
    _, second = await keyed.rotate_key(name)
    _, third = await keyed.rotate_key(name)
    assert [await admitted(keyed, token) is not None for token in (first, second, third)] == [False, True, True]


async def test_without_grace_the_former_secret_ends_at_once(keyed: Memory) -> None:
    name = a_name()
    _, first = await keyed.create_key(name)
    await keyed.rotate_key(name, grace=timedelta(0))
    assert await admitted(keyed, first) is None


async def test_an_expired_key_lets_nobody_in(keyed: Memory, noon: SkippingClock) -> None:
    _, token = await keyed.create_key(a_name(), expires_at=noon.now() + DAY)
    found = await admitted(keyed, token)
    assert found is not None
    assert found.seconds == DAY.total_seconds()
    noon.advance(DAY)
    assert await admitted(keyed, token) is None


async def test_a_revoked_key_lets_nobody_in_with_either_secret_and_cannot_be_rotated(keyed: Memory) -> None:
    name = a_name()
    _, first = await keyed.create_key(name)
    _, second = await keyed.rotate_key(name)
    await keyed.revoke_key(name)
    assert [await admitted(keyed, token) for token in (first, second)] == [None, None]
    for call in (keyed.rotate_key(name), keyed.revoke_key(name)):
        with pytest.raises(NotFound):
            await call


async def test_a_name_is_free_again_once_its_key_is_revoked(keyed: Memory) -> None:
    name = a_name()
    key, _ = await keyed.create_key(name)
    with pytest.raises(Conflict, match="rotate"):
        await keyed.create_key(name)
    await keyed.revoke_key(key.prefix)
    again, _ = await keyed.create_key(name)
    assert again.id != key.id


async def test_its_last_use_is_known_to_the_minute(keyed: Memory, noon: SkippingClock) -> None:
    name = a_name()
    _, token = await keyed.create_key(name)

    async def used() -> datetime | None:
        return next(key.last_used_at for key in await keyed.keys() if key.name == name)

    assert await used() is None
    await admitted(keyed, token)
    first = noon.now()
    assert await used() == first
    noon.advance(timedelta(seconds=30))
    await admitted(keyed, token)
    assert await used() == first
    noon.advance(timedelta(seconds=31))
    await admitted(keyed, token)
    assert await used() == noon.now()


async def test_a_key_does_not_reach_who_gets_the_name_of_an_erased_space(keyed: Memory) -> None:
    old, other = f"old-{secrets.token_hex(4)}", f"other-{secrets.token_hex(4)}"
    await keyed.space(old).save("What the former owner said")
    _, alone = await keyed.create_key(a_name(), spaces=[old])
    _, both = await keyed.create_key(a_name(), spaces=[old, other])
    ended, _ = await keyed.create_key(a_name(), spaces=[old])
    await keyed.revoke_key(ended.name)
    _, every = await keyed.create_key(a_name())
    await keyed.forget_space(old)
    assert (await keyed.audit(kind="limit_keys"))[0].touched == 3
    assert await admitted(keyed, alone) is None
    found = await admitted(keyed, both)
    assert found is not None
    assert found.key.spaces == (other,)
    assert await admitted(keyed, every) is not None
    assert old not in str(await keyed.keys())


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": "root"}, "scopes"),
        ({"spaces": []}, "spaces"),
        ({"spaces": ["a\nb"]}, "spaces"),
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, "expires_at"),
    ],
)
async def test_what_a_key_cannot_be_is_refused(keyed: Memory, given: dict[str, object], field: str) -> None:
    before = await keyed.keys()
    with pytest.raises(InvalidInput) as error:
        await keyed.create_key(**{"name": a_name(), **given})  # type: ignore[arg-type]
    assert error.value.field == field
    assert await keyed.keys() == before
