"""Fits for agent frameworks: each a module of its own that needs the extra of its name.

`langgraph` (a store), `openai_agents` (sessions and tools), `llama_index` (a memory block), `pydantic_ai` (a toolset).
Nothing is decided here: what they do are the verbs of a space. docs/adapters.md shows a program for each.
"""
