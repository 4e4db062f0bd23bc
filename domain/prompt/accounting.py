"""What the server said it read, and what that means."""

from domain.ports import Usage
from domain.prompt.events import Accounting, AccountingStatus, TokenTally


def classify(usage: Usage, tokens: TokenTally, *, window_verified: bool) -> Accounting:
    """The account of one request, checked in this order.

    `unknown`: no positive count. `truncation_suspected`: read + reserve < estimate, or read < exact where the exact
    count is known. `exceeded`: read + reply > budget. `fits` otherwise.
    """
    read = _read(usage)
    status = _status(read, tokens)
    return Accounting(
        status=status,
        prompt_tokens=read,
        completion_tokens=_count(usage.completion_tokens),
        estimate=tokens.total,
        exact=tokens.exact,
        difference=None if read is None else read - tokens.total,
        observed_margin=None if read is None else tokens.budget - tokens.reply - read,
        safety_reserve=tokens.reserve,
        cached_tokens=_count(usage.cached_tokens),
        window_verified=window_verified,
        detail=_sentence(status, read, tokens),
    )


def _read(usage: Usage) -> int | None:
    """The prompt's tokens. A server that reports more cached than read has left the cached ones out: they are added."""
    read, cached = _count(usage.prompt_tokens), _count(usage.cached_tokens)
    if not read:
        return None
    return read + cached if cached is not None and cached > read else read


def _count(said: object) -> int | None:
    """What a server gives as a count, where it is one: a whole number, and not a truth value that passes for one."""
    return said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else None


def _status(read: int | None, tokens: TokenTally) -> AccountingStatus:
    if read is None:
        return "unknown"
    truncated = read < tokens.exact if tokens.exact is not None else read + tokens.reserve < tokens.total
    if truncated:
        return "truncation_suspected"
    return "exceeded" if read + tokens.reply > tokens.budget else "fits"


def _sentence(status: AccountingStatus, read: int | None, tokens: TokenTally) -> str:
    sent = tokens.exact if tokens.exact is not None else tokens.total
    match status:
        case "unknown":
            return "The server did not say how much it read, so nothing can be said about it."
        case "truncation_suspected":
            return (
                f"The server read {read} tokens of about {sent} that were sent: the front of the prompt is probably "
                "missing. Load the model with a larger window, or lower context_budget."
            )
        case "exceeded":
            return (
                f"The server read {read} tokens, which leaves less than the {tokens.reply} of the reply within "
                f"{tokens.budget}: the reply may be cut short. Lower context_budget or max_output_tokens."
            )
        case "fits":
            return f"The server read {read} tokens: all that was sent, as far as its count can tell."
