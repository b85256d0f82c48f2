"""A report is written whole or not at all, also when Ctrl-C comes in between."""

import os
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write `text` beside `file` first, then put it in its place.

    What is no regular file, such as ``/dev/stdout``, or a link to one, is written into directly: to
    replace it would destroy it.
    """
    if file.is_symlink() or (file.exists() and not file.is_file()):
        file.write_text(text, "utf-8")
        return
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        part.write_text(text, "utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
