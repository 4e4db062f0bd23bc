"""How the player's words read in a prompt."""

import re

from domain.prompt.sections import HistoryNode

# Spelt out where ignoring the case would take in a dotted or dotless I, or a long s.
_PERSON = re.compile(r"(?:[Ii]|(?i:you))(?=\s|$|['’](?i:m|re|ll|ve|d)\b)")
_VERB = re.compile(r"(?P<before>\s+|['’])(?P<verb>(?i:am)|was|(?i:m))\b")
_SECOND_PERSON = {"am": "are", "was": "were", "m": "re"}


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
    subject = _PERSON.match(text)
    return f" {text}" if subject is None else _agreeing(text[subject.end() :])


def _agreeing(rest: str) -> str:
    """What follows the person, with a verb that goes with `you`."""
    verb = _VERB.match(rest)
    if verb is None:
        return rest
    agreeing = _SECOND_PERSON[verb["verb"].lower()]
    return f"{verb['before']}{agreeing}{rest[verb.end() :]}"


def _unquoted(text: str) -> str:
    """The words without the quotation marks that the player typed around all of them."""
    if len(text) > 1 and (text[0], text[-1]) in {('"', '"'), ("“", "”")} and not set(text[1:-1]) & set('"“”'):
        return text[1:-1]
    return text
