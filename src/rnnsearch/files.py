"""Files that are never half-written."""

import contextlib
import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all; a link leads to it, a device or pipe takes it as it comes.

    Raises OSError, with the name of the file in it, and leaves nothing behind.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)  # there is nothing to replace, and a device must stay one
        return
    whole = Path(os.path.realpath(path))
    partial = whole.with_name(whole.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(whole)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError) and error.errno:
            error.filename = str(path)
        raise
