"""The world, one module a port: the event log, model servers, tokens, time, other processes."""
