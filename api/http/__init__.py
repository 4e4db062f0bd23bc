"""The HTTP API: JSON and server-sent events under `/api`, described by OpenAPI."""
