"""A local GGUF file's header: the same sizes, read off the tensors it names.

The header of a GGUF file lists every tensor with its shape and the way it is stored, so nothing
is derived from a model's name: a layer's matrices, their parameters and their bytes are there.
Only what a cache keeps comes from the settings beside them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mha_core.errors import DataError, Note
from mha_core.sizes.bounds import bounded_memory
from mha_core.sizes.cache import CacheLayers
from mha_core.sizes.report import Chain, Layer, Parameters, Sizes
from mha_core.sizes.rope_waves import RopeWaves
from mha_core.sizes.storage import FileStorage, Storage

MAGIC = b"GGUF"
MOST_VALUES = 3_000_000  # settings and entries of their lists; large vocabularies have a third
MOST_MEMORY = 4 * 2**30  # bytes, for a header of which some megabytes are read
BLOCK = re.compile(r"blk\.(\d+)\.(attn_\w+)\.(weight|bias)$")
TABLES = ("token_embd.weight", "output.weight")
# Anything beside plain attention that would change what is kept.
SPECIAL = re.compile(r"^(ssm|time_mix|attn_kv_a|attn_k_b|shortconv|attn_sub)|indexer")
ONE = {"attn_q": "w_q", "attn_k": "w_k", "attn_v": "w_v", "attn_output": "w_o"}


@dataclass(frozen=True)
class Header:
    """What the front of a GGUF file says.

    Args:
        settings: its keys and values, long lists left out.
        shapes: [out, in] or longer of each tensor, by name.
        n_bytes: bytes of each tensor.
    """

    settings: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    n_bytes: Mapping[str, int]


def is_gguf(path: Path) -> bool:
    """Whether a file begins as GGUF does."""
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError:
        return False


def read_header(path: Path) -> Header:
    """Read the header of a GGUF file; its weights are neither read nor needed.

    Raises:
        DataError: the file is no GGUF, is cut inside its header, or `gguf` is not installed.
    """
    try:
        import gguf
    except ImportError as error:
        raise DataError("sizes.gguf.library") from error
    from gguf.constants import GGML_QUANT_SIZES

    class HeaderOnly(gguf.GGUFReader):
        """Keeps the names and shapes of tensors and leaves their numbers in the file; believes no
        length that the file is too short for."""

        n_values = 0

        def _get(self, offset: int, dtype: Any, count: int = 1, *order: Any, **orders: Any) -> Any:
            found = super()._get(offset, dtype, count, *order, **orders)
            if len(found) < int(count):
                raise ValueError("the header ends early")
            return found

        def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
            self.n_values += 1
            if self.n_values > MOST_VALUES:
                raise ValueError("more settings than a vocabulary has words")
            return super()._get_field_parts(orig_offs, raw_type)

        def _build_tensors(self, start_offs: int, fields: list[Any]) -> None:
            self.tensors = []
            self.named = fields

    try:
        reader = HeaderOnly(path)
        settings = {
            name: value.contents()
            for name, value in reader.fields.items()
            if not name.startswith("tokenizer.") or len(value.data) == 1
        }
        words = reader.fields.get("tokenizer.ggml.tokens")
        if words is not None:
            settings["tokenizer.ggml.tokens"] = len(words.data)
        shapes, n_bytes = {}, {}
        for info in reader.named:
            # name length, name, number of axes, lengths (shortest stride first), type, offset
            name = bytes(info.parts[1]).decode("utf-8", "replace")
            lengths = [int(length) for length in info.parts[3]]
            kind = gguf.GGMLQuantizationType(int(info.parts[4][0]))
            block, block_bytes = GGML_QUANT_SIZES[kind]
            count = math.prod(lengths)
            shapes[name] = tuple(reversed(lengths))
            n_bytes[name] = count // block * block_bytes
    except Exception as error:
        # The reader raises anything for bytes that end early or mean nothing.
        raise DataError("sizes.gguf.broken", path=path.name) from error
    return Header(settings, shapes, n_bytes)


def measure_gguf(path: Path) -> Sizes:
    """Measure a local GGUF file by its header.

    Raises:
        DataError: see `read_header`; or the header names no architecture.
    """
    return sizes_of_header(read_header(path), path.name)


def measured_bytes(data: bytes, name: str) -> Iterator[Sizes]:
    """Measure the first bytes of a GGUF file, its whole header among them, within bounds.

    Args:
        data: the file from its beginning; its weights may be missing.
        name: of the file, for messages.

    Yields:
        The sizes, once: work for a process of its own, since a header may claim anything.

    Raises:
        DataError: see `measure_gguf`.
    """
    with TemporaryDirectory() as folder, bounded_memory(MOST_MEMORY):
        path = Path(folder) / "header.gguf"
        path.write_bytes(data)
        try:
            header = read_header(path)
        except DataError as error:
            raise DataError(error.key, **error.values | {"path": name}) from None
    yield sizes_of_header(header, name)


def sizes_of_header(header: Header, name: str) -> Sizes:
    """The sizes that a header states.

    Args:
        header: see `read_header`.
        name: of the file, for messages.

    Raises:
        DataError: the header names no architecture.
    """
    model_type = header.settings.get("general.architecture")
    if not isinstance(model_type, str):
        raise DataError("sizes.gguf.broken", path=name)
    own = {key.removeprefix(f"{model_type}."): value for key, value in header.settings.items()}
    notes: list[Note] = [Note("sizes.note.gguf", name=name, count=len(header.shapes))]
    d_model, n_layers = _whole(own.get("embedding_length")), _whole(own.get("block_count"))
    layers = [_layer(header, number, own) for number in range(n_layers or 0)]
    attending = [layer for layer in layers if layer is not None]
    kinds = _grouped(attending)
    cache = _cache(header, own, layers, notes)
    counts = {key: math.prod(s) for key, s in header.shapes.items()}
    total, size = sum(counts.values()), sum(header.n_bytes.values())
    per_layer = attending[0].n_parameters if attending else None
    known = all(layer.n_parameters is not None for layer in attending)
    bits = 8 * size / total if total else 0.0
    if total:
        notes.append(Note("sizes.note.gguf_bytes", bits=f"{bits:.2f}", size=size))
    return Sizes(
        model_type=model_type,
        d_model=d_model,
        n_heads=_whole(_first(own.get("attention.head_count"))),
        n_layers=n_layers,
        first=kinds[0] if kinds else Layer(),
        layers=tuple(kinds),
        parameters=Parameters(
            attention_per_layer=per_layer,
            attention=sum(layer.n_parameters or 0 for layer in attending) if known else None,
            total=total or None,
            source=Note("sizes.source.gguf"),
        ),
        cache=cache,
        causal=None if cache is None else True,
        rope=_rope(own),
        stored=_Exactly(Storage(8), Storage(8), f"GGUF, {bits:.2f} bits", size=size)
        if total
        else None,
        in_tables=sum(counts.get(table, 0) for table in TABLES),
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Exactly(FileStorage):
    """Bytes that the header states."""

    size: int = 0

    def n_bytes(self, total: int, aside: int) -> int:
        """The bytes of all tensors."""
        return self.size


def _layer(header: Header, number: int, own: Mapping[str, Any]) -> Layer | None:
    """One block's attention; None where the block has none, or not in a way known here."""
    held = {
        match[2]: shape
        for name, shape in header.shapes.items()
        if (match := BLOCK.match(name)) and int(match[1]) == number and match[3] == "weight"
    }
    biases = {
        match[2]
        for name in header.shapes
        if (match := BLOCK.match(name)) and int(match[1]) == number and match[3] == "bias"
    }
    n_heads = _whole(_of_layer(own.get("attention.head_count"), number))
    n_kv_heads = _whole(_of_layer(own.get("attention.head_count_kv"), number)) or n_heads
    output = held.get("attn_output")
    if not n_heads or not n_kv_heads or output is None or len(output) != 2:
        return None
    shapes, bias = _shapes(held, biases, n_heads, n_kv_heads)
    chain_q, chain_k, chain_v = (shapes.get(name) for name in ("w_q", "w_k", "w_v"))
    if not chain_q or not chain_k:
        return None
    d_head = chain_q[0][0] // n_heads
    n_bias = sum(
        math.prod(shape)
        for name, shape in header.shapes.items()
        if (match := BLOCK.match(name)) and int(match[1]) == number and match[3] == "bias"
    )
    n_matrices = sum(rows * columns for chain in shapes.values() for rows, columns in chain or ())
    return Layer(
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        d_value=chain_v[0][0] // n_kv_heads if chain_v else d_head,
        shapes=shapes,
        bias=bias,
        n_parameters=n_matrices + n_bias,
    )


def _shapes(
    held: Mapping[str, tuple[int, ...]], biases: set[str], n_heads: int, n_kv_heads: int
) -> tuple[dict[str, Chain | None], dict[str, bool | None]]:
    """The four matrices, a fused one cut into three."""
    if "attn_qkv" in held:
        rows, columns = held["attn_qkv"]
        d_head, rest = divmod(rows, n_heads + 2 * n_kv_heads)
        if rest:
            return {}, {}
        shapes: dict[str, Chain | None] = {
            "w_q": ((n_heads * d_head, columns),),
            "w_k": ((n_kv_heads * d_head, columns),),
            "w_v": ((n_kv_heads * d_head, columns),),
        }
        bias: dict[str, bool | None] = dict.fromkeys("qkv", "attn_qkv" in biases)
    else:
        names = {part: ONE[part] for part in ("attn_q", "attn_k", "attn_v") if part in held}
        shapes = {ONE[part]: None for part in ("attn_q", "attn_k", "attn_v")}
        shapes |= {name: (_pair(held[part]),) for part, name in names.items()}
        bias = {part[-1]: part in biases for part in ("attn_q", "attn_k", "attn_v")}
    shapes["w_o"] = (_pair(held["attn_output"]),)
    return shapes, bias | {"o": "attn_output" in biases}


def _pair(shape: tuple[int, ...]) -> tuple[int, int]:
    return shape[0], shape[-1]


def _cache(
    header: Header, own: Mapping[str, Any], layers: list[Layer | None], notes: list[Note]
) -> tuple[CacheLayers, ...] | None:
    """What each layer keeps, where every layer is plain attention over all tokens."""
    inner = {name.split(".", 2)[2] for name in header.shapes if name.startswith("blk.")}
    special = sorted(name for name in inner if SPECIAL.search(name))
    windows = [key for key in own if "sliding_window" in key and _first(own[key])]
    if special or windows or None in layers or not layers:
        names = ", ".join(special[:3] or windows or ["attn_q"])
        notes.append(Note("sizes.note.no_cache", reason=Note("sizes.reason.windows", names=names)))
        return None
    counts: dict[int, int] = {}
    for layer in layers:
        assert layer is not None
        key, value = own.get("attention.key_length"), own.get("attention.value_length")
        width = (_whole(key) or layer.d_head or 0) + (_whole(value) or layer.d_value or 0)
        elements = (layer.n_kv_heads or 0) * width
        counts[elements] = counts.get(elements, 0) + 1
    return tuple(CacheLayers(count, elements) for elements, count in counts.items())


def _rope(own: Mapping[str, Any]) -> tuple[RopeWaves, ...]:
    base, width = own.get("rope.freq_base"), _whole(own.get("rope.dimension_count"))
    if not isinstance(base, int | float) or not width:
        return ()
    kind = own.get("rope.scaling.type") or "default"
    fields = {"factor": own.get("rope.scaling.factor")}
    return (
        RopeWaves(
            kind=str(kind) if kind != "none" else "default",
            base=float(base),
            width=width,
            trained=_whole(own.get("context_length")),
            original=_whole(own.get("rope.scaling.original_context_length")),
            fields={key: value for key, value in fields.items() if value},
        ),
    )


def _grouped(layers: list[Layer]) -> list[Layer]:
    """Alike layers counted together."""
    found: dict[str, list[Layer]] = {}
    for layer in layers:
        found.setdefault(repr(layer), []).append(layer)
    return [replace(alike[0], count=len(alike)) for alike in found.values()]


def _of_layer(value: Any, number: int) -> Any:
    """A setting of one layer; one for all, or a list."""
    if isinstance(value, list):
        return value[number] if number < len(value) else None
    return value


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None
