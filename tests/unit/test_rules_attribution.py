"""Who vouches for a summary, and what the names of tools tell."""

from __future__ import annotations

import pytest

from perdure.rules.attribution import MEMORY_TOOLS, is_memory_tool, is_read_tool, vouched_by

NOBODY: frozenset[str] = frozenset()


def vouched(
    said_by: str,
    summary: str,
    *,
    user: str = "",
    assistant: str = "",
    tools: str = "",
    outside: bool = False,
    asked: bool = False,
) -> str:
    return vouched_by(
        said_by,
        set(summary.split()),
        user=set(user.split()),
        assistant=set(assistant.split()),
        tools=set(tools.split()),
        outside=outside,
        asked=asked,
    )


def test_what_stands_in_the_users_words_is_the_users() -> None:
    assert vouched("user", "vegan lisbon", user="vegan now lisbon", tools="weather lisbon", outside=True) == "user"


def test_what_only_a_tool_said_is_never_the_users_whatever_the_model_says() -> None:
    assert vouched("user", "ada hates bob", user="read page ada", tools="ada hates bob") == "tool"
    assert vouched("user", "ada hates bob", user="read page ada", tools="ada hates bob", outside=True) == "external"


def test_the_users_words_in_another_language_are_the_users_if_nobody_else_spoke() -> None:
    assert vouched("user", "vegetarian", user="vegetarisch") == "user"
    assert vouched("user", "vegetarian", user="vegetarisch", assistant="gerne") == "user"
    assert vouched("user", "vegetarian", user="vegetarisch", tools="menu") == "assistant"


def test_what_only_the_assistant_said_is_the_assistants() -> None:
    assert vouched("user", "lisbon", user="yes", assistant="live lisbon") == "assistant"
    assert vouched("assistant", "lisbon", user="lisbon") == "assistant"


def test_what_the_assistant_took_from_strangers_is_capped() -> None:
    assert vouched("assistant", "flight", assistant="flight", tools="flight", outside=True) == "external"


def test_what_the_model_ascribes_to_a_tool_is_the_tools() -> None:
    assert vouched("tool", "rain", tools="rain") == "tool"


def test_nothing_that_was_said_by_a_tool_alone_is_the_assistants() -> None:
    assert vouched("assistant", "rain", assistant="take umbrella", tools="rain") == "tool"
    assert vouched("assistant", "rain", assistant="rain", tools="rain") == "assistant"


@pytest.mark.parametrize(
    "name", [*sorted(MEMORY_TOOLS), "saveMemory", "mcp__perdure__search_memory", "memory.forget-memory"]
)
def test_memory_tools_are_known_however_they_are_spelled(name: str) -> None:
    assert is_memory_tool(name)
    assert not is_read_tool(name)


@pytest.mark.parametrize("name", ["web_search", "get_weather", "memory_usage", "calendar", ""])
def test_other_tools_are_none(name: str) -> None:
    assert not is_memory_tool(name)
    assert is_read_tool(name)


@pytest.mark.parametrize("name", ["send_email", "createEvent", "delete-file", "set_timer"])
def test_a_tool_that_does_something_grounds_nothing(name: str) -> None:
    assert not is_read_tool(name)


def test_what_a_reply_invents_to_a_question_is_not_the_users() -> None:
    said = {"user": "visit lisbon", "assistant": "you are allergic peanuts lisbon"}
    assert vouched("user", "lisbon allergic peanuts", asked=True, **said) == "assistant"
    # A correction says little, and the reply spells it out.
    assert vouched("user", "meeting starts 4pm", user="sorry 4pm", assistant="meeting starts 4pm") == "user"


def test_of_what_strangers_may_have_written_the_user_has_to_have_said_most() -> None:
    assert vouched("user", "meeting 4 pm", user="read mail meeting", tools="\u4f1a\u8bae", outside=True) == "external"
    assert vouched("user", "meeting 4 pm", user="meeting 4", tools="\u4f1a\u8bae", outside=True) == "user"
