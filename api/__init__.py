"""What can be asked: use cases, and the ways to ask them: HTTP, commands. Everything is wired together here."""
