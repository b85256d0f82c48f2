"""Foreign text without the characters that no document may hold and no terminal should obey."""

import re

# What XML allows, less carriage returns and the control characters from U+007F to U+009F: they move
# the cursor or start commands on a terminal. Lone surrogates cannot be encoded at all.
_FORBIDDEN = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legible(text: str) -> str:
    """Return `text` without control characters, lone surrogates and noncharacters."""
    return _FORBIDDEN.sub("", text)
