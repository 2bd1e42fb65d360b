"""docs/models.md has the table of call sites as it is in the code."""

from __future__ import annotations

from checks.sources import ROOT
from perdure.llm import CALL_SITES
from perdure.llm.dialects import Dialect

PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[tuple[str, ...]]:
    lines = [
        line for line in PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0].splitlines() if line[:1] == "|"
    ]
    return [tuple(cell.strip().strip("`") for cell in line.strip("|").split("|")) for line in lines[2:]]


def test_every_call_site_stands_on_the_page_as_it_is() -> None:
    expected = [
        (
            site.name,
            site.role.value,
            site.mode.value,
            "on" if site.thinking else "off",
            site.fallback.value if site.fallback else "",
            str(site.max_tokens),
            f"{site.deadline_s:g}",
        )
        for site in CALL_SITES.values()
    ]
    assert rows("Who is asked what") == expected


def test_every_dialect_stands_on_the_page() -> None:
    assert [row[0] for row in rows("Dialects")] == [dialect.value for dialect in Dialect]
