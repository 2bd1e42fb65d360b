"""What a verb takes and returns, read from the method itself: its parameters, one by one, with their types."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, get_args, get_type_hints, is_typeddict

from perdure.space import Space

REQUIRED: Final = inspect.Parameter.empty
_LOCAL: Final = frozenset({"progress"})
"""Parameters that stay with the caller: there is nothing to send."""
VARIADIC: Final = "ids"
"""What the many arguments of `forget(1, 2, 3)` are called in JSON."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a verb. `default` is REQUIRED where it has none; `many` stands for `*ids`."""

    name: str
    type: Any
    default: Any
    many: bool = False

    @property
    def required(self) -> bool:
        return self.default is REQUIRED and not self.many


@dataclass(frozen=True, slots=True)
class Signature:
    """What a verb takes and returns. `summary` is the first line of its docstring, `told` the rest."""

    parameters: tuple[Parameter, ...]
    returns: Any
    summary: str
    told: str

    def __getitem__(self, name: str) -> Parameter:
        return next(each for each in self.parameters if each.name == name)


@cache
def signature_of(verb: str) -> Signature:
    """The signature of a method of `Space`."""
    method = getattr(Space, verb)
    hints = get_type_hints(method, include_extras=True)
    summary, _, told = (inspect.getdoc(method) or "").partition("\n")
    found: list[Parameter] = []
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if name in _LOCAL:
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found += _unpacked(hints[name])
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            each: Any = hints[name]
            found.append(Parameter(VARIADIC, list[each], REQUIRED, many=True))
        else:
            found.append(Parameter(name, hints[name], parameter.default))
    return Signature(tuple(found), hints["return"], summary, told.strip())


def bound(method: Callable[..., Any], verb: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, Any]:
    """The arguments of a call by their names in JSON, without what isn't given. Raises TypeError as the call does."""
    given = inspect.signature(method).bind(None, *args, **kwargs)
    values: dict[str, Any] = {}
    for name, value in list(given.arguments.items())[1:]:
        kind = given.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            values.update(value)
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            values[VARIADIC] = list(value)
        elif name not in _LOCAL:
            values[name] = value
    known = {parameter.name for parameter in signature_of(verb).parameters}
    unknown = sorted(set(values) - known)
    if unknown:
        raise TypeError(f"{verb}() got an unexpected keyword argument {unknown[0]!r}")
    return values


def _unpacked(hint: Any) -> list[Parameter]:
    """The keys of the TypedDict behind `**filters: Unpack[...]`."""
    (inner,) = get_args(hint)
    assert is_typeddict(inner)
    return [Parameter(name, type_, None) for name, type_ in get_type_hints(inner, include_extras=True).items()]
