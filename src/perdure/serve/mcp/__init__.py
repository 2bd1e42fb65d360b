"""MCP: the memory as tools, resources and a prompt, over stdio and streamable HTTP."""

from perdure.serve.mcp.http import McpDoor
from perdure.serve.mcp.stdio import serve_stdio

__all__ = ["McpDoor", "serve_stdio"]
