"""What the people of the second simulation know and ask: subjects with a fact each, and a question that needs it.

A subject is told by its word, which its fact and its questions share; the embedder of the simulation sees no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Subject:
    """Something there is a fact about.

    Attributes:
        word: what texts about it hold, and no others.
        theme: what its texts have in common with those of related subjects.
        fact: what is taught, with `{value}` for what differs; `{user}` stays for the prompt to fill in.
        asks: a message that needs the fact.
        values: what it is for one after the other.
    """

    word: str
    theme: str
    fact: str
    asks: str
    values: tuple[str, ...]


PERSONAL: Final = (
    Subject(
        "allerg", "food", "{user} is allergic to {value} and must not eat even traces of it.",
        "Can I have the cake, or does it hold what I'm allergic to?",
        ("peanuts", "shellfish", "sesame", "celery", "lupin"),
    ),
    Subject(
        "breakfast", "food", "For breakfast {user} has {value}, never anything sweet.",
        "What shall I get for breakfast tomorrow?", ("porridge", "rye bread", "scrambled eggs", "miso soup"),
    ),
    Subject(
        "coffee", "food", "{user} takes the coffee {value}.", "Order me a coffee the way I like it, please.",
        ("black", "with oat milk", "decaffeinated", "with two sugars"),
    ),
    Subject(
        "birthday", "dates", "The birthday of {user} is on the {value}.", "How many days are there to my birthday?",
        ("3rd of March", "17th of May", "9th of August", "21st of November", "1st of October"),
    ),
    Subject(
        "sister", "family", "The sister of {user} is called {value}, and the two talk every Sunday.",
        "I want to write to my sister, how do I begin?", ("Nora", "Ines", "Yuki", "Amara", "Lena"),
    ),
    Subject(
        "dog", "family", "{user} has a dog named {value} that is afraid of thunder.",
        "There is a storm coming, what about the dog?", ("Biscuit", "Rufus", "Tofu", "Pixel"),
    ),
    Subject(
        "guitar", "leisure", "{user} plays the guitar in a band named {value}.",
        "Which songs go with my guitar and the band?", ("The Locks", "Slow Tide", "Kettle", "Nine Doors"),
    ),
    Subject(
        "marathon", "leisure", "{user} trains for the marathon in {value}.", "Plan my week, I have a marathon to run.",
        ("Oslo", "Kyoto", "Lisbon", "Boston", "Cape Town"),
    ),
    Subject(
        "chess", "leisure", "At chess {user} opens with {value}.", "Give me a chess puzzle that fits how I open.",
        ("the English", "the Queen's Gambit", "the King's Indian", "the Scotch"),
    ),
    Subject(
        "laptop", "work", "The laptop of {user} runs {value}.", "The fan of my laptop is loud, what can I do?",
        ("Debian", "Fedora", "Windows 11", "OpenBSD"),
    ),
    Subject(
        "shift", "work", "{user} works the {value} shift at the harbour office.", "When am I free, given my shift?",
        ("early", "late", "night", "split"),
    ),
    Subject(
        "boss", "work", "The boss of {user} is {value}, who likes short mails.", "Draft a mail to my boss for me.",
        ("Mr. Okafor", "Ms. Lindqvist", "Dr. Sato", "Mrs. Ferreira"),
    ),
    Subject(
        "glasses", "health", "{user} wears glasses of {value} dioptres for reading.",
        "I sat on my glasses, which ones do I need?", ("1.5", "2.25", "minus 3", "minus 4.5"),
    ),
    Subject(
        "insulin", "health", "{user} takes insulin at {value} every day.", "I travel tomorrow: when is my insulin due?",
        ("7 and 19", "8 and 20", "6 and 18"),
    ),
    Subject(
        "train", "travel", "{user} commutes by the train from {value}.", "Is my train late this morning?",
        ("Moss", "Setúbal", "Otsu", "Salem"),
    ),
    Subject(
        "window", "travel", "On flights {user} wants the window seat in row {value}.",
        "Book the flight, window seat as always.", ("2", "9", "14", "30"),
    ),
)  # fmt: skip
"""What people teach of themselves."""

SHARED: Final = (
    Subject(
        "game night", "events", "Game night in this server is on {value} at eight.", "When is game night this week?",
        ("Fridays", "Tuesdays"),
    ),
    Subject(
        "mascot", "lore", "The mascot of this server is {value}.", "Draw our mascot with a hat!",
        ("a heron named Moss", "an owl named Dial"),
    ),
    Subject(
        "spoiler", "rules", "Spoilers belong into the channel {value} only.", "May I post a spoiler here?",
        ("attic", "cellar"),
    ),
    Subject(
        "book club", "events", "The book club reads {value} this season.", "What does the book club read?",
        ("The Left Hand of Darkness", "Kim"),
    ),
    Subject(
        "wiki", "lore", "The wiki of this server is kept by {value}.", "Who can put this into the wiki?",
        ("Dana and Eli", "Hugo and Iris"),
    ),
    Subject(
        "raid", "events", "The raid group needs a {value} and meets on Sundays.",
        "Does the raid still look for people?", ("healer", "scout"),
    ),
    Subject(
        "anniversary", "events", "The anniversary of this server is on the {value}.",
        "Let us plan the anniversary of the server.", ("12th of June", "30th of April"),
    ),
    Subject(
        "avatar", "rules", "Everybody's avatar has to show {value} in December.", "What do I need for my avatar?",
        ("a lantern", "a snowflake"),
    ),
    Subject(
        "newsletter", "lore", "The newsletter goes out on the {value} of each month.",
        "Is there time left for the newsletter?", ("first", "last Friday"),
    ),
    Subject(
        "quiz", "events", "The quiz is won by whoever has {value} points first.", "How many points win the quiz?",
        ("twenty", "fifty"),
    ),
)  # fmt: skip
"""What is taught of a server."""

SMALL_TALK: Final = (
    "Good morning everybody, what a day!",
    "Haha, that was a good one.",
    "I'm so tired, see you all tomorrow.",
    "The weather is dreadful again.",
    "Thanks, you're great.",
    "Brb, somebody is at the door.",
)
"""Messages that need no fact."""

TOO_SHORT: Final = "ok"
"""A message with too few letters to look for anything with."""


def subject_in(text: str) -> Subject | None:
    """What a text of the simulation is about, or None."""
    lowered = text.lower()
    return next((subject for subject in (*PERSONAL, *SHARED) if subject.word in lowered), None)
