"""Prompts: files with a version, filled with words that nobody vouches for.

A file `prompts/<name>.md` has a head (`version`, `site`), then what the model is told, then `# Material`, the frame
for the fields. Only the material holds fields, so that the first part is the same in every call and a server can keep
it. A line `@part` stands for `prompts/parts/<part>.md`; a prompt whose call site has a schema ends with its JSON form.

Every field is put into a `<data>` element, escaped like a remembered text: no content can close its element, and every
prompt says that nothing inside is an order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from perdure.llm.call_sites import CALL_SITES
from perdure.llm.schemas import answer_form
from perdure.rules.fencing import escaped

_FIELD: Final = re.compile(r"\{([a-z_]+)\}")
_PART: Final = re.compile(r"^@([a-z_]+)$", re.MULTILINE)
_HEAD: Final = re.compile(r"version: (?P<version>[0-9]+)\nsite: (?P<site>[a-z_]+)\n\n")
_MATERIAL: Final = "\n# Material\n"
_INDENT: Final = "\n  "
_FORM: Final = "Answer with one JSON object and nothing else, of this form:"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt, as the two messages of a chat."""

    name: str
    version: int
    system: str
    user: str

    def made_by(self, model: str) -> str:
        """What is stored with everything the answer becomes: `triage_email-1/<model>`."""
        return f"{self.name}-{self.version}/{model}"


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt file: what is always said, and the frame for its `fields`."""

    name: str
    version: int
    site: str
    system: str
    frame: str
    fields: tuple[str, ...]


def render(name: str, **fields: str) -> Prompt:
    """The prompt `name` with its fields filled in, each as a block of data.

    Args:
        name: a file of `prompts/`, without its ending.
        fields: all that the file asks for; "" for what there is none of.

    Raises:
        ValueError: a field is missing or unknown.
    """
    template = load(name)
    if set(fields) != set(template.fields):
        raise ValueError(f"prompt {name} takes the fields {', '.join(template.fields)}; given: {', '.join(fields)}")
    user = _FIELD.sub(lambda found: data_block(found[1], fields[found[1]]), template.frame)
    return Prompt(name, template.version, template.system, user)


def data_block(name: str, text: str) -> str:
    """`text` as data: brackets escaped, and every line after the first indented, so that none looks like a role."""
    return f'<data name="{name}">{_INDENT.join(map(escaped, text.strip().splitlines()))}</data>'


@cache
def load(name: str) -> Template:
    """The prompt file of that name, which comes with the package."""
    text = _read(f"{name}.md")
    head = _HEAD.match(text)
    assert head, f"prompts/{name}.md has no head"
    system, _, frame = text[head.end() :].partition(_MATERIAL)
    system = _PART.sub(lambda found: _read(f"parts/{found[1]}.md").strip(), system).strip()
    schema = CALL_SITES[head["site"]].schema
    if schema is not None:
        system = f"{system}\n\n{_FORM}\n{answer_form(schema)}"
    fields = tuple(dict.fromkeys(_FIELD.findall(frame)))
    return Template(name, int(head["version"]), head["site"], system, frame.strip(), fields)


@cache
def names() -> tuple[str, ...]:
    """Every prompt there is."""
    found = (path.name for path in (files("perdure.llm") / "prompts").iterdir())
    return tuple(sorted(name.removesuffix(".md") for name in found if name.endswith(".md")))


def _read(path: str) -> str:
    return (files("perdure.llm") / "prompts").joinpath(path).read_text(encoding="utf-8")
