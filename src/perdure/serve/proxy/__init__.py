"""The proxy: memory in front of any OpenAI-compatible model."""

from perdure.serve.proxy.keeping import Keeping
from perdure.serve.proxy.router import proxy_router
from perdure.serve.proxy.upstream import Upstream

__all__ = ["Keeping", "Upstream", "proxy_router"]
