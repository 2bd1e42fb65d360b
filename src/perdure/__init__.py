"""Long-term memory for AI assistants, on PostgreSQL and pgvector."""
