"""The clock and the source of names."""

import base64
import os
from datetime import UTC, datetime

_BYTES_OF_TEN_CHARACTERS = 7  # 56 bits make twelve base32 characters, of which ten are taken: 50 random bits


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The time, in UTC."""
        return datetime.now(UTC)


class RandomNames:
    """Names from the operating system's randomness."""

    def new(self, prefix: str) -> str:
        """`prefix`, an underscore and ten lower-case base32 characters."""
        letters = base64.b32encode(os.urandom(_BYTES_OF_TEN_CHARACTERS)).decode("ascii").lower()
        return f"{prefix}_{letters[:10]}"
