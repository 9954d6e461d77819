"""A model fetched from the hub by name, where the server's owner allows it, at one commit.

Off unless TWELVE_HEADS_HUB is 1. What is fetched lies in the models' folder from then on, and is
read and refused there like any other folder.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from mha_core.errors import DataError
from mha_core.real.folder import MANIFEST, SIZE_VARIABLE, inspect_folder, models_root, most_bytes

HUB_VARIABLE = "TWELVE_HEADS_HUB"
NAME = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
COMMIT = re.compile(r"[0-9a-f]{40}")
# No code, no pickles, nothing in folders of its own.
FILE = re.compile(
    r"(config|tokenizer|tokenizer_config|special_tokens_map|generation_config|vocab)\.json"
    r"|(vocab|merges)\.txt|[\w.-]+\.safetensors(\.index\.json)?"
)


def fetch_from_hub(name: str, revision: str, root: Path | None = None) -> Path:
    """Fetch one model at one commit.

    Args:
        name: "owner/model".
        revision: the 40 hexadecimal digits of a commit; a branch may change.
        root: where folders of models lie; see `models_root`.

    Returns:
        The folder, named owner--model.

    Raises:
        DataError: the hub is not allowed, the name or the revision is none, the files are too
            large, cannot be had, or are refused as a folder would be.
    """
    root = models_root() if root is None else root
    if os.environ.get(HUB_VARIABLE) != "1":
        raise DataError("real.hub.off", name=name, root=root.name)
    if not COMMIT.fullmatch(revision):
        raise DataError("real.hub.revision", revision=revision[:60])
    if not NAME.fullmatch(name):
        raise DataError("real.hub.name", name=name[:200])
    folder = root / name.replace("/", "--")
    info = _ask(name, revision)
    files = {each.rfilename: each.size or 0 for each in info.siblings}
    taken = sorted(file for file in files if FILE.fullmatch(file))
    n_bytes, most = sum(files[file] for file in taken), most_bytes()
    if n_bytes > most:
        raise DataError(
            "real.large",
            name=name, n_bytes=f"{n_bytes:,}", limit=f"{most:,}", variable=SIZE_VARIABLE,
        )  # fmt: skip
    _download(name, revision, taken, folder)
    told = {
        "name": name,
        "source": f"https://huggingface.co/{name}/tree/{revision}",
        "licence": str(getattr(info.card_data, "license", None) or ""),
    }
    (folder / MANIFEST).write_text(json.dumps(told, indent=2) + "\n", "utf-8")
    inspect_folder(folder)
    return folder


def _ask(name: str, revision: str) -> Any:
    """What files there are, and how large."""
    from huggingface_hub import HfApi

    try:
        return HfApi().model_info(name, revision=revision, files_metadata=True, timeout=20)
    except Exception as error:
        # Anything between here and there may fail, each in a way of its own.
        raise _absent(name, revision, error) from error


def _download(name: str, revision: str, files: list[str], folder: Path) -> None:
    """Fetch these files and no others."""
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(name, revision=revision, allow_patterns=files, local_dir=folder)
    except Exception as error:
        raise _absent(name, revision, error) from error


def _absent(name: str, revision: str, error: Exception) -> DataError:
    """The refusal of what could not be had."""
    return DataError(
        "real.hub.absent", name=name, revision=revision[:12], reason=type(error).__name__
    )
