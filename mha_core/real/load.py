"""From a checked folder to a model that shows its attention, or one sentence why not."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from mha_core.device import choose_device
from mha_core.errors import DataError, Note
from mha_core.real.capture import NAME, Call, capture_with_output
from mha_core.real.folder import (
    Contents,
    ModelCard,
    card_of,
    find_model,
    inspect_folder,
    most_bytes,
)
from mha_core.real.labels import Encoded, encode
from mha_core.sizes.architectures import base_class, known_version, named_class
from mha_core.sizes.build import Built, build, count_parameters
from mha_core.sizes.quiet import one_at_a_time, reason_of
from mha_core.sizes.read import Json
from mha_core.values import check_index

if TYPE_CHECKING:
    from torch import nn

    from mha_core.real.mapping import Mapped

FLOATS = {"F64", "F32", "F16", "BF16"}
NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
# What old files keep in a layer and classes make themselves: masks, angles.
OF_NO_USE = re.compile(
    r"\.(attn|attention)\.(bias|masked_bias)$|inv_freq$|position_ids$|rotary_emb\."
)
# Tokens on which a model is tried out; an odd number, which no size inside a model is.
TRIED = 23
# What is seen of a model may differ by rounding from what it computes by itself, by no more.
UNLIKE = 1e-3
# Parts that read no token and mix none; a file may lack them.
AFTER_ALL = re.compile(r"(^|\.)(pooler|seq_relationship)\.")


@dataclass(frozen=True, eq=False)
class RealModel:
    """A model of transformers, loaded, its attention open to `mha_core.real.capture`.

    Args:
        card: what was known of it before.
        network: the module, switched to this project's attention function; in `eval` mode.
        tokenizer: a fast tokenizer of transformers.
        n_heads: query heads of each attention call, in the order in which they are called: one
            call a layer, also where one module is called for all layers.
        n_kv_heads: KV heads, likewise.
        causal: whether every layer looks back only.
        limit: tokens it reads at most.
        lock: held by whoever runs it: what looks on is told by the module, not by the caller.
        maps: how each layer is made, as far as that was found out.
    """

    card: ModelCard
    network: nn.Module
    tokenizer: Any
    n_heads: tuple[int, ...]
    n_kv_heads: tuple[int, ...]
    causal: bool
    limit: int
    lock: threading.RLock = field(default_factory=threading.RLock)
    maps: dict[int, Mapped] = field(default_factory=dict)

    def __repr__(self) -> str:
        kind = type(self.network).__name__
        return f"RealModel({self.name}: {kind}, {self.n_layers} layers, {sum(self.n_heads)} heads)"

    @property
    def name(self) -> str:
        """The name by which it was chosen."""
        return self.card.name

    @property
    def n_layers(self) -> int:
        """How many times attention is computed on the way through."""
        return len(self.n_heads)

    @property
    def speaks(self) -> bool:
        """Whether it says how likely each next token is."""
        network: Any = self.network
        return self.causal and network.get_output_embeddings() is not None

    @property
    def n_rows(self) -> int:
        """Tokens it has a vector for."""
        return _rows(self.network)

    def check_layer(self, number: int) -> None:
        """Refuse a layer that it does not have.

        Raises:
            ConfigError: as said.
        """
        check_index("layer", number, self.n_layers)

    def check_head(self, layer: int, head: int) -> None:
        """Refuse a head that it does not have.

        Raises:
            ConfigError: as said.
        """
        self.check_layer(layer)
        check_index("head", head, self.n_heads[layer])

    def encode(self, text: str, *, special: bool = True) -> Encoded:
        """Cut a text into this model's tokens.

        Args:
            text: any text.
            special: whether the tokens that the tokenizer puts round a text are put there.

        Raises:
            DataError: the text has no token, more than the model reads, or half a character.
        """
        return encode(self.tokenizer, text, name=self.name, special=special, limit=self.limit)


def load_model(
    name: str | Path,
    *,
    root: Path | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
    limit: int | None = None,
) -> RealModel:
    """Load a model from a folder: safetensors only, no code of its own, nothing from elsewhere.

    Everything that can be known beforehand is: the sizes of the files, the headers of the
    weights, and, from the class built without weights, whether config.json describes them.

    Args:
        name: of a folder in `root`, or the path of a folder.
        root: see `list_models`.
        device: see `choose_device`.
        dtype: the float type to compute in.
        limit: see `inspect_folder`.

    Raises:
        DataError: the folder is refused, see `inspect_folder`; its config does not describe its
            numbers; its class shows nobody its attention; or its tokenizer is another model's.
        DeviceError: see `choose_device`.
    """
    here = choose_device(device, dtype)
    folder = name if isinstance(name, Path) else find_model(name, root).folder
    contents = inspect_folder(folder, limit=limit)
    with one_at_a_time():
        built = _describe(contents, limit)
        tokenizer = _load_tokenizer(contents)
        _check_tokenizer(contents.folder.name, tokenizer, built.full or built.base)
        network = _load_network(contents, built, dtype)
    return open_network(network.to(here), tokenizer, card_of(folder))


def open_network(network: nn.Module, tokenizer: Any, card: ModelCard) -> RealModel:
    """Make any loaded model of transformers one whose attention can be looked at.

    Args:
        network: a `PreTrainedModel`; it is switched to this project's attention function.
        tokenizer: a fast tokenizer.
        card: what is known of it.

    Raises:
        DataError: its class does not let anyone see its attention, or the tokenizer gives numbers
            that the model has no row for.
    """
    _check_tokenizer(card.name, tokenizer, network)
    network.eval().requires_grad_(False)
    ids = probe(tokenizer, _rows(network), _most_tokens(network, tokenizer))
    ids = ids.to(next(network.parameters()).device)
    with _no_interface(network, card.name):
        told = _by_itself(network, ids)
        _switch(network, card.name)
        with one_at_a_time():
            calls, out = capture_with_output(network, input_ids=ids)
    _compare(card.name, network, calls, out, told)
    return RealModel(
        card=card,
        network=network,
        tokenizer=tokenizer,
        n_heads=tuple(call.n_heads for call in calls),
        n_kv_heads=tuple(call.n_kv_heads for call in calls),
        causal=all(not call.looks_ahead() for call in calls),
        limit=_most_tokens(network, tokenizer),
    )


def _check_tokenizer(name: str, tokenizer: Any, network: Any) -> None:
    """Refuse a tokenizer that gives numbers for which the model has no row, and a model that has
    none for any."""
    largest, rows = max(tokenizer.get_vocab().values(), default=-1), _rows(network)
    if not rows:
        raise DataError("real.words", name=name, kind=type(network).__name__)
    if largest >= rows:
        raise DataError("real.tokenizer.ids", name=name, largest=largest, n_rows=rows)


def _rows(network: Any) -> int:
    """How many tokens the model has a vector for; none where it reads no tokens."""
    with suppress(NotImplementedError, AttributeError):
        return int(network.get_input_embeddings().weight.shape[0])
    return 0


def probe(tokenizer: Any, n_rows: int, most: int, n: int = TRIED) -> Tensor:
    """Draw tokens that tell positions apart, none that stands for something else than text.

    Args:
        tokenizer: the model's.
        n_rows: tokens that the model has a vector for.
        most: tokens that it reads at most.
        n: how many, where it reads so many.

    Returns:
        [1, token], the same each time.
    """
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(0, min(n_rows, 2**20), (4 * n,), generator=generator)
    special = set(tokenizer.all_special_ids)
    plain = [each for each in drawn.tolist() if each not in special] or drawn.tolist()
    return torch.tensor([plain[: min(n, most)]])


@contextmanager
def _no_interface(network: Any, name: str) -> Iterator[None]:
    """Refuse a class that lets nobody look: it may ask a mask or a call for what ours do not have,
    and raises anything then."""
    try:
        yield
    except Exception as error:
        raise DataError("real.interface", name=name, kind=type(network).__name__) from error


def _by_itself(network: Any, ids: Tensor) -> Any:
    """What a model computes without us, with its patterns where it gives any."""
    with one_at_a_time(), torch.no_grad():
        network.set_attn_implementation("eager")
        with suppress(TypeError, ValueError):
            return network(input_ids=ids, output_attentions=True)
        return network(input_ids=ids)


def _switch(network: Any, name: str) -> None:
    """Have the model ask our function for attention; a class without the interface only warns."""
    with one_at_a_time(), suppress(ValueError, KeyError, ImportError, NotImplementedError):
        network.set_attn_implementation(NAME)
    if network.config._attn_implementation != NAME:
        raise DataError("real.interface", name=name, kind=type(network).__name__)


def _compare(name: str, network: Any, calls: list[Call], ours: Any, told: Any) -> None:
    """Hold what is seen of a model against what it computes by itself: as many patterns, the same
    ones, and the same output. A class may call for more than its attention, or for less."""
    kind = type(network).__name__
    if not calls:
        raise DataError("real.interface", name=name, kind=kind)
    n = calls[0].q.shape[2]
    patterns = [
        each for each in (getattr(told, "attentions", None) or ())
        if isinstance(each, Tensor) and each.ndim == 4 and each.shape[-2] == each.shape[-1] == n
    ]  # fmt: skip
    if patterns and len(patterns) != len(calls):
        raise DataError(
            "real.unlike.calls", name=name, kind=kind, n_calls=len(calls), n_told=len(patterns)
        )
    apart = _apart(ours[0], told[0]) if isinstance(told[0], Tensor) else 0.0
    if not isfinite(apart):
        raise DataError("real.nan", name=name)
    for call, pattern in zip(calls, patterns, strict=bool(patterns)):
        seen = call.rows()
        if call.sinks is not None:  # some classes give it as it was before a sink took its share
            seen, pattern = (each / each.sum(-1, keepdim=True) for each in (seen, pattern))
        same = seen.shape == pattern.shape
        apart = max(apart, float((seen - pattern).abs().max()) if same else 1.0)
    most = max(UNLIKE, 30 * torch.finfo(next(network.parameters()).dtype).eps)
    if not apart <= most:
        raise DataError("real.unlike", name=name, kind=kind, apart=f"{apart:.1e}", most=f"{most:g}")


def _apart(ours: Tensor, theirs: Tensor) -> float:
    """The largest distance as a share of the largest number."""
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp(1e-30))


def _most_tokens(network: Any, tokenizer: Any) -> int:
    """How many tokens fit, by the table of positions and by what config and tokenizer say."""
    told = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    limits = [tokenizer.model_max_length, told if isinstance(told, int) and told > 0 else 2**31]
    for path, module in network.named_modules():
        if path.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            limits.append(module.num_embeddings - first)
    return int(min(limits))


def _describe(contents: Contents, limit: int | None) -> Built:
    """Build the class without weights, and hold what it would need against what is stored."""
    name = contents.folder.name
    built = build(contents.config)
    foreign = built is not None and built.config is None and named_class(contents.config)[0] is None
    if built is None or foreign:
        raise DataError(
            "real.unknown", name=name, version=known_version(), kind=_kind_of(contents.config)
        )
    if not built.agrees or built.model is None:
        told = [note.values["reason"] for note in built.notes if "reason" in note.values]
        reason = told[-1] if told else Note("sizes.reason.refused")
        raise DataError("real.class", name=name, version=known_version(), reason=reason)
    for note in built.notes:  # counting needs no activation, computing does
        if note.key in ("sizes.note.activation", "sizes.note.gated"):
            reason = Note("sizes.reason.key", **note.values)
            raise DataError("real.class", name=name, version=known_version(), reason=reason)
    if getattr(built.config, "is_encoder_decoder", False):
        raise DataError("real.pairs", name=name)
    model = built.full if built.full is not None else built.base
    assert model is not None
    needed = 4 * (count_parameters(model) or 0)
    most = most_bytes() if limit is None else limit
    _compare_shapes(contents, model)
    if needed > most or needed > 2 * contents.n_bytes:
        largest = max(model.named_parameters(), key=lambda each: each[1].numel())
        raise DataError("real.missing", name=name, tensor=largest[0])
    return built


def _kind_of(config: Json) -> str:
    """What a file says its model is: the class it names, else its type."""
    named = named_class(config)[1] or config.get("model_type") or "?"
    return str(named)[:60]


def _compare_shapes(contents: Contents, model: Any) -> None:
    """Hold the shapes of the class's tensors against those stored under the same names."""
    name, prefix = contents.folder.name, f"{model.base_model_prefix}."
    expected = {_bare(key, prefix): tuple(each.shape) for key, each in model.named_parameters()}
    stored = {_bare(key, prefix): (key, each) for key, each in contents.tensors.items()}
    for key, (written, each) in stored.items():
        if key in expected and each.shape != expected[key]:
            raise DataError(
                "real.shapes",
                name=name, tensor=written, expected=list(expected[key]), found=list(each.shape),
            )  # fmt: skip
        if key in expected and each.dtype not in FLOATS:
            raise DataError("real.quantised", name=name, method=each.dtype)
    # A layer more than the class has: a name like one it has, but for a number.
    patterns = {NUMBER.sub("#", key) for key in expected if NUMBER.search(key)}
    for key, (written, _) in stored.items():
        if key not in expected and NUMBER.sub("#", key) in patterns:
            raise DataError("real.left_over", name=name, tensor=written)


def _bare(key: str, prefix: str) -> str:
    """A tensor's name without the prefix that a class with a head puts before it."""
    return key.removeprefix(prefix)


def _load_tokenizer(contents: Contents) -> Any:
    """Load the tokenizer, which must say where in the text each token lies."""
    from transformers import AutoTokenizer

    try:
        found = AutoTokenizer.from_pretrained(
            contents.folder, local_files_only=True, trust_remote_code=False, use_fast=True
        )
    except Exception as error:
        # The library raises anything for files that are not what it expects.
        raise DataError("real.tokenizer", name=contents.folder.name) from error
    if not getattr(found, "is_fast", False) or not found.get_vocab():
        raise DataError("real.tokenizer", name=contents.folder.name)
    return found


def _load_network(contents: Contents, built: Built, dtype: torch.dtype) -> nn.Module:
    """Load the weights into the class that config.json names."""
    name, version = contents.folder.name, known_version()
    kind = named_class(contents.config)[0] if built.full is not None else base_class(built.config)
    try:
        with _no_bars():
            network, told = kind.from_pretrained(
                contents.folder,
                config=built.config,
                dtype=dtype,
                attn_implementation="eager",
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except Exception as error:
        reason = reason_of(error, contents.config)
        raise DataError("real.load", name=name, version=version, reason=reason) from error
    missing = sorted(key for key in told["missing_keys"] if not AFTER_ALL.search(key))
    if missing:
        raise DataError("real.missing", name=name, tensor=missing[0])
    layers = {_layer_of(key) for key, _ in network.named_parameters()} - {""}
    left_over = sorted(
        key for key in told["unexpected_keys"]
        if _layer_of(key) in layers and not OF_NO_USE.search(key)
    )  # fmt: skip
    if left_over:
        raise DataError("real.left_over", name=name, tensor=left_over[0])
    loaded: nn.Module = network
    return loaded


def _layer_of(key: str) -> str:
    """Where a tensor's layer lies, whichever layer it is; "" outside all layers.

    >>> _layer_of("model.layers.3.mlp.up_proj.weight"), _layer_of("lm_head.weight")
    ('model.layers.#', '')
    """
    found = re.match(r"(.*?\.)?\d+(?=\.)", key)
    return re.sub(r"\d+$", "#", found[0]) if found else ""


@contextmanager
def _no_bars() -> Iterator[None]:
    """Load without progress bars on the server's terminal."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
