"""A folder of a model's files, read and refused before anything of it is loaded.

Only JSON and the headers of safetensors files are read here; no tensor, no torch, no transformers.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mha_core.brief import brief
from mha_core.errors import DataError, Note, TwelveHeadsError
from mha_core.sizes.check import MAIN_NAMES, check, stated
from mha_core.sizes.read import Json, read_file

FOLDER_VARIABLE = "TWELVE_HEADS_MODELS"
SIZE_VARIABLE = "TWELVE_HEADS_MODEL_GIB"
DEFAULT_GIB = 6.0
MANIFEST = "MANIFEST.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
# A tokenizer of 250,000 pieces has 17 MB.
MOST_SMALL_BYTES = 2**26
PICKLES = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".h5", ".msgpack"}
# Pickles that trainers leave beside the weights; nobody opens them.
BESIDE = {"training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth", "optimizer.bin"}
TOKENIZERS = ({"tokenizer.json"}, {"vocab.txt"}, {"vocab.json", "merges.txt"})
CODE_FILES = ("config.json", "tokenizer_config.json", "generation_config.json")


@dataclass(frozen=True)
class Stored:
    """One tensor as a file's header states it.

    Args:
        dtype: as safetensors writes it, such as "F32".
        shape: lengths of its axes.
    """

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Contents:
    """What a folder holds, checked.

    Args:
        folder: where.
        config: config.json, its sizes plain whole numbers.
        tensors: every stored tensor, by name.
    """

    folder: Path
    config: Json
    tensors: Mapping[str, Stored]

    __repr__ = brief

    @property
    def n_bytes(self) -> int:
        """Bytes of all its numbers as float32."""
        return 4 * sum(math.prod(each.shape) for each in self.tensors.values())


@dataclass(frozen=True)
class ModelCard:
    """What is known of a model before it is loaded.

    Args:
        name: the folder's name, by which it is chosen.
        folder: where it lies.
        kind: its `model_type`, such as "llama"; "" where the file does not say.
        n_layers, n_heads: as its config.json states them; None where it does not.
        causal: whether a token may look back only, as its kind and its class's name tell; None
            where they do not. A loaded model knows.
        n_bytes: of its files.
        quantised: how its numbers were rounded before they came here ("4 bits"), or "".
        source, licence: as the manifest beside it has them, or "".
        problem: why it cannot be loaded, or None.
    """

    name: str
    folder: Path
    kind: str = ""
    n_layers: int | None = None
    n_heads: int | None = None
    causal: bool | None = None
    n_bytes: int = 0
    quantised: str = ""
    source: str = ""
    licence: str = ""
    problem: TwelveHeadsError | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the names and bytes of its files, 16 letters; read once until one changes."""
        return digest_of(self.folder)


def models_root() -> Path:
    """Give the folder whose folders are models: TWELVE_HEADS_MODELS, else `models`.

    The latter lies beside the packages in a checkout, else where the program was started.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    source = Path(__file__).parents[2]
    return (source if (source / "pyproject.toml").is_file() else Path.cwd()) / "models"


def list_models(root: Path | None = None) -> tuple[ModelCard, ...]:
    """List the models of a folder, by name, those that cannot be loaded too.

    Args:
        root: the folder; `models_root()` unless given. One that is not there has none.

    Raises:
        DataError: the folder that the environment names is no folder.
    """
    root = models_root() if root is None else root
    if not root.is_dir():
        if os.environ.get(FOLDER_VARIABLE) and root == models_root():
            raise DataError("real.root", root=root.name, variable=FOLDER_VARIABLE)
        return ()
    folders = (each for each in root.iterdir() if each.is_dir() and each.name[0] not in "._")
    return tuple(card_of(folder) for folder in sorted(folders) if any(folder.iterdir()))


def find_model(name: str, root: Path | None = None) -> ModelCard:
    """Give the card of one model; nothing outside the folder can be named.

    Raises:
        DataError: there is no such model.
    """
    cards = list_models(root)
    for card in cards:
        if card.name == name:
            return card
    found = ", ".join(card.name for card in cards) or Note("real.nothing")
    raise DataError("real.name", name=name, root=_place(root), found=found)


def _place(root: Path | None) -> str:
    """The folder as a message names it: not where it lies on this machine."""
    return (models_root() if root is None else root).name or "models"


def card_of(folder: Path) -> ModelCard:
    """Say what a folder holds, from its small files and headers."""
    told = _manifest_of(folder)
    problem: TwelveHeadsError | None = None
    try:
        config = inspect_folder(folder).config
    except TwelveHeadsError as error:
        problem = error
        config = _config_or_nothing(folder)
    main = next((config[name] for name in MAIN_NAMES if isinstance(config.get(name), dict)), config)
    assert isinstance(main, dict)
    return ModelCard(
        name=folder.name,
        folder=folder,
        kind=str(config.get("model_type") or ""),
        n_layers=_whole(main, "n_layers"),
        n_heads=_whole(main, "n_heads"),
        causal=_causal_by_name(config),
        n_bytes=sum(path.stat().st_size for path in _files(folder)),
        problem=problem,
        **told,
    )


def _config_or_nothing(folder: Path) -> Json:
    """The config of a folder that is refused, as far as it can be read."""
    try:
        return check(read_file(folder / "config.json")[0])[0]
    except TwelveHeadsError:
        return {}


def _whole(config: Json, meaning: str) -> int | None:
    """One size as the file states it."""
    found = stated(config, meaning)
    return found[1] if found and isinstance(found[1], int) else None


def _causal_by_name(config: Json) -> bool | None:
    """Whether a model looks back only, as far as its kind and its class's name tell."""
    kind, named = str(config.get("model_type")), config.get("architectures")
    name = str(named[0]) if isinstance(named, list) and named else ""
    if "bert" in kind or kind in ("electra", "mpnet") or name.endswith("ForMaskedLM"):
        return None if config.get("is_decoder") else False
    return True if name.endswith(("ForCausalLM", "LMHeadModel")) else None


def _manifest_of(folder: Path) -> dict[str, str]:
    """What the manifest says of a folder, as far as it is there."""
    try:
        told: Any = read_file(folder / MANIFEST)[0]
    except TwelveHeadsError:
        return {}
    return {name: str(told.get(name) or "") for name in ("source", "licence", "quantised")}


def inspect_folder(folder: Path, *, limit: int | None = None) -> Contents:
    """Read what a folder says of itself, and refuse what must not or cannot be loaded.

    Args:
        folder: of a model's files.
        limit: bytes of its numbers as float32 at most; as the environment sets it unless given.

    Raises:
        DataError: it brings code, holds pickles only, is too large, a file of it is damaged, or
            there is no config, no tokenizer or no weight.
    """
    name, files = folder.name, {path.name: path for path in _files(folder)}
    _refuse_links(name, files)
    if "config.json" not in files:
        _refuse_other_kinds(name, files)
        raise DataError("real.config", name=name)
    _refuse_large_files(name, files, limit)
    settings = {file: _read(name, files[file]) for file in CODE_FILES if file in files}
    for file in files:
        if file.endswith("config.json") and file not in settings:  # read by nobody here
            with suppress(DataError):
                settings[file] = _read(name, files[file])
    for file, setting in settings.items():
        _refuse_code(name, file, setting)
    config, _ = check(settings["config.json"])
    _refuse_packed(name, config, files)
    tensors = _read_headers(name, files)
    contents = Contents(folder, config, tensors)
    _refuse_large(name, contents.n_bytes, limit)
    if not any(needed <= files.keys() for needed in TOKENIZERS):
        raise DataError("real.tokenizer", name=name)
    return contents


def _files(folder: Path) -> list[Path]:
    """The files that lie in a folder itself, by name."""
    return sorted(path for path in folder.iterdir() if path.is_file())


def _refuse_links(name: str, files: Mapping[str, Path]) -> None:
    """Refuse a file that is a link to a place outside: what lies there is no part of a model. In
    the cache of the hub the files of a revision are links to the blobs beside it."""
    for file, path in files.items():
        if not path.is_symlink():
            continue
        here, there = path.parent.resolve(), path.resolve()
        is_cache = here.parent.name == "snapshots" and there.parent == here.parents[1] / "blobs"
        if not is_cache and not there.is_relative_to(here):
            raise DataError("real.link", name=name, file=file)


def most_bytes() -> int:
    """Bytes of a model's numbers as float32 that are loaded at most.

    >>> most_bytes() > 2**30
    True
    """
    try:
        gib = float(os.environ.get(SIZE_VARIABLE) or DEFAULT_GIB)
    except ValueError:
        gib = DEFAULT_GIB
    return int((gib if 0 < gib < 2**20 else DEFAULT_GIB) * 2**30)


def _refuse_large(name: str, n_bytes: int, limit: int | None) -> None:
    limit = most_bytes() if limit is None else limit
    if n_bytes > limit:
        raise DataError(
            "real.large",
            name=name, n_bytes=f"{n_bytes:,}", limit=f"{limit:,}", variable=SIZE_VARIABLE,
        )  # fmt: skip


def _refuse_large_files(name: str, files: Mapping[str, Path], limit: int | None) -> None:
    """Ask the file system for the sizes, before a byte is read."""
    sizes = {file: path.stat().st_size for file, path in files.items()}
    _refuse_large(name, sum(s for file, s in sizes.items() if file.endswith(".safetensors")), limit)
    for file, size in sizes.items():
        if Path(file).suffix in (".json", ".txt", ".jinja", ".model") and size > MOST_SMALL_BYTES:
            raise DataError(
                "real.file.large",
                name=name, file=file, n_bytes=f"{size:,}", limit=f"{MOST_SMALL_BYTES:,}",
            )  # fmt: skip


def _read(name: str, path: Path) -> Json:
    """One JSON file of the folder."""
    try:
        return read_file(path)[0]
    except DataError as error:
        if error.key == "sizes.keys.none" and path.name != "config.json":
            return {}
        reason = Note(error.key, **error.values)
        raise DataError("real.file", name=name, file=path.name, reason=reason) from error


def _refuse_code(name: str, file: str, setting: object) -> None:
    """Refuse a file that names classes outside transformers, wherever in it."""
    for value in setting if isinstance(setting, list) else ():
        _refuse_code(name, file, value)
    for key, value in setting.items() if isinstance(setting, dict) else ():
        if key in ("auto_map", "custom_pipelines", "custom_generate") and value:
            raise DataError("real.code", name=name, file=file, code=_first_word(value))
        _refuse_code(name, file, value)


def _first_word(value: Any) -> str:
    """The first text inside a value, for a message."""
    while isinstance(value, (dict, list)) and value:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return str(value)[:60]


def _refuse_packed(name: str, config: Json, files: Mapping[str, Path]) -> None:
    """Refuse numbers that are stored in another way than as numbers, or change another model."""
    parts = [config, *(part for part in config.values() if isinstance(part, dict))]
    names = ("quantization_config", "compression_config")
    packing = next((part[key] for part in parts for key in names if part.get(key)), None)
    if packing:
        method = packing.get("quant_method", "?") if isinstance(packing, dict) else "?"
        raise DataError("real.quantised", name=name, method=str(method)[:40])
    if "adapter_config.json" in files:
        raise DataError("real.adapter", name=name)


def _refuse_other_kinds(name: str, files: Mapping[str, Path]) -> None:
    """Refuse what is no folder of safetensors by the name of what it is."""
    if "adapter_config.json" in files:
        raise DataError("real.adapter", name=name)
    for file, path in files.items():
        if path.suffix.lower() == ".gguf":
            raise DataError("real.gguf", name=name, file=file)


def _read_headers(name: str, files: Mapping[str, Path]) -> dict[str, Stored]:
    """The name, type and shape of every tensor, from the headers alone."""
    stored = [path for file, path in files.items() if file.endswith(".safetensors")]
    if not stored:
        for path in files.values():
            if path.suffix.lower() in PICKLES and path.name not in BESIDE:
                raise DataError("real.pickle", name=name, file=path.name)
        _refuse_other_kinds(name, files)
        raise DataError("real.weights", name=name)
    _check_index(name, files)
    if not files.keys() & {WEIGHTS, INDEX}:
        raise DataError("real.weights.name", name=name, file=stored[0].name, expected=WEIGHTS)
    tensors: dict[str, Stored] = {}
    for path in stored:
        tensors |= _header_of(name, path)
    if not tensors:
        raise DataError("real.weights", name=name)
    return tensors


def _check_index(name: str, files: Mapping[str, Path]) -> None:
    """The list of a model in several files names files of this folder only."""
    if INDEX not in files:
        return
    shards = _read(name, files[INDEX]).get("weight_map")
    for shard in sorted(set(map(str, shards.values()))) if isinstance(shards, dict) else ["?"]:
        if shard not in files:
            raise DataError("real.shard", name=name, file=INDEX, shard=shard[:80])
        if not shard.endswith(".safetensors"):
            raise DataError("real.pickle", name=name, file=shard)


def _header_of(name: str, path: Path) -> dict[str, Stored]:
    """What one file's header states; the library holds it against the file's length."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            slices = {key: file.get_slice(key) for key in file.keys()}  # noqa: SIM118
            return {
                key: Stored(each.get_dtype(), tuple(each.get_shape()))
                for key, each in slices.items()
            }
    except (SafetensorError, OSError, ValueError) as error:
        raise DataError("real.header", name=name, file=path.name) from error


def digest_of(folder: Path) -> str:
    """SHA-256 of the names and bytes of a model's files, the first 16 letters.

    What a trainer left beside them and the manifest do not count.
    """
    counted = [path for path in _files(folder) if path.suffix in (".safetensors", ".json", ".txt")]
    stats = [(path, path.stat()) for path in counted if path.name != MANIFEST]
    return _digest(tuple((str(path), each.st_size, each.st_mtime_ns) for path, each in stats))


@lru_cache(maxsize=256)
def _digest(files: tuple[tuple[str, int, int], ...]) -> str:
    """Read the files; their size and time say whether they are still the same."""
    total = hashlib.sha256()
    for name, size, _ in files:
        path = Path(name)
        with path.open("rb") as file:
            inside = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.name} {size} {inside}\n".encode())
    return total.hexdigest()[:16]
