"""The library over the wire: its values as JSON, and its verbs as requests. Server and client have it in common."""

from perdure.acting import Scope
from perdure.wire.codec import adapter, from_wire, refusal, to_wire
from perdure.wire.routes import NOT_OFFERED, PAGE_ENDS, ROUTES, Method, Route
from perdure.wire.shapes import IdentityCard, Prompt, Shown, cursor_of, read_cursor, written
from perdure.wire.signatures import VARIADIC, Parameter, Signature, bound, signature_of

__all__ = [
    "NOT_OFFERED",
    "PAGE_ENDS",
    "ROUTES",
    "VARIADIC",
    "IdentityCard",
    "Method",
    "Parameter",
    "Prompt",
    "Route",
    "Scope",
    "Shown",
    "Signature",
    "adapter",
    "bound",
    "cursor_of",
    "from_wire",
    "read_cursor",
    "refusal",
    "signature_of",
    "to_wire",
    "written",
]
