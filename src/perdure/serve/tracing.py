"""Traces for OpenTelemetry: a span for each request and each verb, with its stages. Numbers and names alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from perdure.clock import wall_clock
from perdure.errors import ConfigurationError
from perdure.observing import Answered, Event, ModelAsked, listening

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

_NS: Final = 1_000_000_000


class Tracing:
    """Turns what happens into spans of the one that is open."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("perdure")

    def hear(self, event: Event) -> None:
        """Adds spans of what has just ended, from when it began."""
        if isinstance(event, Answered):
            end = _now()
            begin = end - int(event.seconds * _NS)
            span = self._tracer.start_span(f"space.{event.verb}", start_time=begin)
            if event.error is not None:
                span.set_attribute("error.type", event.error)
            if event.degraded:
                span.set_attribute("perdure.degraded", len(event.degraded))
            if event.brought is not None:
                span.set_attribute("perdure.brought", event.brought)
            self._stages(span, event, begin)
            span.end(end)
        elif isinstance(event, ModelAsked):
            end = _now()
            attributes: dict[str, str | int] = {
                "gen_ai.operation.name": event.site,
                "gen_ai.usage.input_tokens": event.prompt_tokens,
                "gen_ai.usage.output_tokens": event.completion_tokens,
            }
            began = end - int(event.seconds * _NS)
            self._tracer.start_span(f"model.{event.role}", start_time=began, attributes=attributes).end(end)

    @contextmanager
    def request(self, method: str) -> Iterator[Span]:
        """A span around a request; its route is told at the end."""
        # What an error says may quote a row, so a span tells no more of it than the status of the answer.
        with self._tracer.start_as_current_span(method, record_exception=False, set_status_on_exception=False) as span:
            yield span

    def close(self) -> None:
        """Sends what is left."""
        self._provider.shutdown()

    def _stages(self, span: Span, event: Answered, begin: int) -> None:
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415 - an extra

        within = set_span_in_context(span)
        for stage, seconds in event.stages.items():
            if stage != "total":
                part = self._tracer.start_span(stage, within, start_time=begin)
                part.end(begin + int(seconds * _NS))


@contextmanager
def tracing(endpoint: str | None) -> Iterator[Tracing | None]:
    """Sends traces to an OTLP endpoint over HTTP until the block ends; None: no traces.

    Raises:
        ConfigurationError: the packages of the extra `otel` are missing.
    """
    if endpoint is None:
        yield None
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise ConfigurationError(
            "PERDURE_OTEL_ENDPOINT needs packages that are not installed.", hint="Run: pip install 'perdure[otel]'"
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "perdure"}))
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    found = Tracing(provider)
    try:
        with listening(found.hear):
            yield found
    finally:
        found.close()


def _now() -> int:
    return int(wall_clock().timestamp() * _NS)
