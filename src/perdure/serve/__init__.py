"""The server: REST, MCP and a proxy over one memory. Needs the extra `perdure[server]`."""
