"""How the player's words read in a prompt."""

import re

from domain.prompt.sections import HistoryNode

_FIRST_PERSON = re.compile(r"(?:I(?=\s|$)|I(?=['’](?:m|ll|ve|d)\b)|you(?=\s|$))", re.IGNORECASE)
_AM = re.compile(r"['’]m\b")


def as_prompted(node: HistoryNode) -> str:
    """`do` as `> You …`, `say` as `> You say, "…"`, everything else as it is.

    A leading `I` is dropped for the `You` that takes its place, only where the first word is plainly that.
    """
    if node.kind == "do":
        return f"> You{_deed(node.text.strip())}"
    if node.kind == "say":
        return f'> You say, "{_unquoted(node.text.strip())}"'
    return node.text


def _deed(text: str) -> str:
    subject = _FIRST_PERSON.match(text)
    if subject is None:
        return f" {text}"
    rest = text[subject.end() :]
    return _AM.sub("'re", rest, count=1) if rest[:1] in ("'", "’") else rest


def _unquoted(text: str) -> str:
    """The words without the quotation marks that the player typed around all of them."""
    if len(text) > 1 and (text[0], text[-1]) in {('"', '"'), ("“", "”")} and not set(text[1:-1]) & set('"“”'):
        return text[1:-1]
    return text
