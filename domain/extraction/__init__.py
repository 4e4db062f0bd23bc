"""From a raw reply to prose: named rules, versioned extractors, exact removals."""
