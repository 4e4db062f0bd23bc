"""What extractors made of replies when they were released: files that nothing may change."""
