"""What a function or operator may be used for in a write, by the volatility that pg_proc gives it.

A test compares IMMUTABLE with the running server, so the list can't drift from the truth.
"""

from __future__ import annotations

from checks.sql.parsing import Node, Statement, column, enum, function_name, strings, type_name, walk
from checks.sql.schema import Schema

IMMUTABLE = frozenset({
    # numbers
    "abs", "cbrt", "ceil", "ceiling", "div", "exp", "floor", "ln", "log", "mod", "power", "pow", "round", "sign",
    "sqrt", "trunc", "width_bucket",
    # text and bytes
    "btrim", "char_length", "character_length", "chr", "decode", "encode", "initcap", "left", "lower",
    "lpad", "ltrim", "md5", "octet_length", "overlay", "position", "repeat", "replace", "reverse", "right", "rpad",
    "rtrim", "sha256", "sha512", "split_part", "starts_with", "strpos", "substr", "substring", "translate", "upper",
    "regexp_replace", "regexp_match",
    # arrays
    "array_append", "array_cat", "array_length", "array_position", "array_prepend", "array_remove", "array_replace",
    "cardinality", "unnest",
    # json
    "jsonb_array_length", "jsonb_set", "jsonb_strip_nulls", "jsonb_typeof", "jsonb_extract_path",
    "jsonb_extract_path_text", "jsonb_insert", "jsonb_array_elements", "jsonb_array_elements_text", "jsonb_each",
    "jsonb_object_keys",
    # text search
    "setweight", "strip", "ts_rank", "ts_rank_cd", "numnode",
    # intervals
    "justify_days", "justify_hours", "justify_interval", "make_date", "make_interval", "make_time", "isfinite",
    # vectors
    "binary_quantize", "cosine_distance", "inner_product", "l1_distance", "l2_distance", "l2_norm", "l2_normalize",
    "subvector", "vector_dims",
})  # fmt: skip
"""Functions all of whose forms are IMMUTABLE. Add one only if pg_proc says so."""

VOLATILE = frozenset({
    "random", "random_normal", "setseed", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7",
    "nextval", "setval", "currval", "lastval", "pg_sleep",
})  # fmt: skip

NOW = frozenset({"now", "transaction_timestamp", "statement_timestamp", "localtimestamp"})

_IMMUTABLE_UNLESS_ZONED = frozenset({"extract", "date_part", "date_trunc", "date_bin"})
"""Immutable for dates, intervals and timestamps without a zone, stable for timestamptz."""

_IMMUTABLE_WITH = {"length": 1, "to_timestamp": 1, "to_tsvector": 2}
"""Immutable in the form with that many arguments only."""

_ZONED = "timestamptz"
_BOUND_TYPES = {"now": _ZONED, "today": "date"}
"""What the store binds in every transaction (perdure.store.database)."""
_CLOCK_TYPES = frozenset({"timestamptz", "timestamp", "date", "time", "timetz"})
_TEXT_TYPES = frozenset({"text", "varchar", "bpchar", "name"})
_NUMBER_TYPES = frozenset({"int2", "int4", "int8", "float4", "float8", "numeric", "bool", "uuid"})
_COMPARISONS = frozenset({"<", "<=", "=", ">=", ">", "<>", "!="})


class Expressions:
    """Judges the expressions of one statement; types are known from the schema as far as names tell them."""

    def __init__(self, statement: Statement, schema: Schema) -> None:
        self._statement = statement
        self._schema = schema

    def volatile(self, node: Node) -> str | None:
        """The name of a VOLATILE function called at this node."""
        return function_name(node) if node["@"] == "FuncCall" and function_name(node) in VOLATILE else None

    def stable(self, node: Node) -> str | None:
        """What at this node (not below it) is STABLE: a function, an operator, a cast, or the time."""
        match node["@"]:
            case "FuncCall":
                return self._stable_function(node)
            case "SQLValueFunction":
                return enum(node["op"]).removeprefix("SVFOP_")
            case "A_Expr":
                return self._stable_operator(node)
            case "TypeCast":
                return self._stable_cast(node)
            case _:
                return None

    def _stable_function(self, node: Node) -> str | None:
        name = function_name(node)
        if name in IMMUTABLE or name in VOLATILE:
            return None
        arguments = node.get("args", ())
        if (
            name in _IMMUTABLE_UNLESS_ZONED
            and arguments
            and self.type_of(arguments[-1]) in {"interval", "date", "timestamp"}
        ):
            return None
        if _IMMUTABLE_WITH.get(name) == len(arguments):
            return None
        return f"{name}()"

    def _stable_operator(self, node: Node) -> str | None:
        operator = strings(node["name"])[-1]
        if enum(node["kind"]) != "AEXPR_OP" or "lexpr" not in node:
            return None
        left, right = self.type_of(node["lexpr"]), self.type_of(node["rexpr"])
        both = {left, right}
        if (
            operator in {"+", "-"}
            and "interval" in both
            and both <= {_ZONED, "interval", None}
            and both != {"interval"}
        ):
            return "timestamptz ± interval"
        if operator in {"+", "-"} and left == _ZONED and right is None and not contains_column(node["rexpr"]):
            return "timestamptz ± interval" if operator == "+" else None
        if operator in _COMPARISONS and _ZONED in both and both & {"date", "timestamp"}:
            return f"timestamptz {operator} {(both - {_ZONED}).pop()}"
        if operator == "||" and both & (_NUMBER_TYPES | _CLOCK_TYPES):
            return "text || another type"
        return None

    def _stable_cast(self, node: Node) -> str | None:
        source, target = self.type_of(node["arg"]), type_name(node["typeName"])
        if source == target or source is None:
            return None
        if (source in _CLOCK_TYPES and target in _TEXT_TYPES) or (source in _TEXT_TYPES and target in _CLOCK_TYPES):
            return f"{source}::{target}"
        if _ZONED in {source, target} and {source, target} <= _CLOCK_TYPES:
            return f"{source}::{target}"
        return None

    def type_of(self, node: Node) -> str | None:
        """The type of an expression where it can be told, else None."""
        found: str | None = None
        match node["@"]:
            case "ColumnRef":
                found = self._schema.column_type(column(node)[1])
            case "TypeCast":
                found = type_name(node["typeName"])
            case "ParamRef":
                found = _BOUND_TYPES.get(self._statement.params.get(node["number"], ""))
            case "SQLValueFunction" if "TIMESTAMP" in enum(node["op"]):
                found = _ZONED
            case "FuncCall":
                found = self._type_of_call(node)
            case "CoalesceExpr" | "MinMaxExpr":
                found = next((kind for argument in node["args"] if (kind := self.type_of(argument))), None)
            case "A_Expr":
                found = self._type_of_operation(node)
            case _:
                pass
        return found

    @staticmethod
    def _type_of_call(node: Node) -> str | None:
        name = function_name(node)
        if name in NOW or name in {"clock_timestamp", "to_timestamp"}:
            return _ZONED
        return (
            "interval"
            if name in {"make_interval", "justify_interval", "justify_days", "justify_hours", "age"}
            else None
        )

    def _type_of_operation(self, node: Node) -> str | None:
        if enum(node["kind"]) != "AEXPR_OP" or "lexpr" not in node:
            return None
        operator = strings(node["name"])[-1]
        left, right = self.type_of(node["lexpr"]), self.type_of(node["rexpr"])
        if operator in {"*", "/"} and "interval" in {left, right}:
            return "interval"
        if operator == "-" and left == right == _ZONED:
            return "interval"
        if operator in {"+", "-"} and _ZONED in {left, right}:
            return _ZONED
        if operator in {"+", "-"} and left == right == "interval":
            return "interval"
        return None


def contains_column(node: Node) -> bool:
    """Whether a column is read anywhere below."""
    return any(below["@"] == "ColumnRef" for below in walk(node))


def is_now(node: Node) -> bool:
    """Whether the node asks the server for the time or the date."""
    if node["@"] == "FuncCall":
        return function_name(node) in NOW | {"clock_timestamp", "timeofday"}
    return node["@"] == "SQLValueFunction" and any(word in enum(node["op"]) for word in ("TIME", "DATE"))
