"""A text through another people's model: its tokens, every head's pattern, a layer's record.

Everything is worked out when it is first asked for, and kept in the store without the model, so
that a model can go when there is no more room for it.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from mha_core.config import AttentionConfig
from mha_core.errors import Note
from mha_core.language.tokenizer import Token
from mha_core.language.vocabulary import Kind
from mha_view import limits
from mha_view.real import SHELF, name_of
from mha_view.store import STORE
from mha_view.walks import Reading, Walk

if TYPE_CHECKING:
    from mha_core.arrays import Array
    from mha_core.real.labels import Encoded
    from mha_core.real.load import RealModel
    from mha_core.trace import AttentionTrace
    from mha_view.scene import Scene

SHOWN = 12  # next tokens kept for each place


def most_tokens(model: RealModel) -> int:
    """How many tokens of a text are read: as many as the model takes, and as leave the patterns of
    all its heads room."""
    cells = limits.value("REAL_CELLS") // sum(model.n_heads)
    return min(model.limit, limits.value("MOST_TOKENS"), math.isqrt(cells))


def encode(name: str, text: str) -> tuple[Encoded, int]:
    """A text as a model reads it, and how many of its tokens are left out.

    Raises:
        DataError: see `RealModel.encode`.
    """
    return STORE.get(("encoded", ("real", name), text), lambda: _encode(SHELF.load(name), text))


def _encode(model: RealModel, text: str) -> tuple[Encoded, int]:
    """Cut a text, and cut it off where there is no more room, special tokens at its end kept."""
    read = model.encode(text)
    most, n = most_tokens(model), read.n_tokens
    if n <= most:
        return read, 0
    after = next(back for back in range(n) if not read.special[n - 1 - back])
    kept = [*range(most - after), *range(n - after, n)]
    picked: dict[str, Any] = {
        field: tuple(getattr(read, field)[place] for place in kept)
        for field in ("ids", "labels", "spans", "pieces", "special")
    }
    return replace(read, **picked), n - most


def read_text(name: str, text: str) -> Reading:
    """The tokens of a text as every page takes them."""
    return STORE.get(("reading", ("real", name), text), lambda: _read(name, text))


def _read(name: str, text: str) -> Reading:
    """Say of each token what kind it is."""
    read, n_left_out = encode(name, text)
    tokens = tuple(_token(read, place) for place in range(read.n_tokens))
    return Reading(tokens, read.labels, n_left_out)


def n_before(name: str) -> int:
    """How many tokens a model puts before a text's first."""
    return STORE.get(("before", ("real", name)), lambda: _n_before(SHELF.load(name)))


def _n_before(model: RealModel) -> int:
    """Count them before a text of one letter."""
    special = model.encode("a").special
    return next((n for n, is_special in enumerate(special) if not is_special), 0)


def _token(read: Encoded, place: int) -> Token:
    """One token; what kind it is follows from its characters."""
    start, end = read.spans[place]
    piece = read.text[start:end]
    return Token(read.ids[place], piece, start, end, _kind(read, place), read.labels[place])


def _kind(read: Encoded, place: int) -> Kind:
    """What sort of token stands at a place."""
    start, end = read.spans[place]
    piece = read.text[start:end].strip()
    if read.special[place]:
        return "special"
    if read.pieces[place][1] > 1:
        return "byte"
    if not piece:
        return "space"
    if all(unicodedata.category(letter)[0] in "PS" for letter in piece):
        return "punctuation"
    goes_on = start > 0 and read.text[start].isalnum() and read.text[start - 1].isalnum()
    return "piece" if goes_on and read.text[start].isascii() else "word"


def unknown_of(scene: Scene) -> tuple[str, tuple[int, ...]] | None:
    """What a model's tokenizer reads for what its vocabulary lacks, and the places of the tokens
    that are this; None where there is no such token."""
    name, number = STORE.get(("unknown", ("real", scene.real)), lambda: _unknown(scene.real))
    if not name:
        return None
    tokens = read_text(scene.real, scene.text).tokens
    places = tuple(
        place
        for place, token in enumerate(tokens)
        if token.id == number and token.kind != "special" and token.piece.strip() != name
    )
    return (name, places) if places else None


def _unknown(name: str) -> tuple[str, int]:
    """A tokenizer's token for what its vocabulary lacks; none where it has no such token."""
    tokenizer = SHELF.load(name).tokenizer
    number = tokenizer.unk_token_id
    return ("", -1) if number is None else (str(tokenizer.unk_token), int(number))


class Layers(Sequence["AttentionTrace"]):
    """The records of a model's layers, each worked out when it is looked at."""

    def __init__(self, name: str, text: str, n_layers: int) -> None:
        self.name, self.text, self.n_layers = name, text, n_layers

    def __len__(self) -> int:
        return self.n_layers

    @overload
    def __getitem__(self, number: int) -> AttentionTrace: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[AttentionTrace]: ...
    def __getitem__(self, number: int | slice) -> AttentionTrace | Sequence[AttentionTrace]:
        """A layer's record.

        Raises:
            DataError: the layer cannot be shown step by step; see `real_layer`.
        """
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        return layer_of(self.name, self.text, range(len(self))[number]).trace

    def __iter__(self) -> Iterator[AttentionTrace]:
        return (self[number] for number in range(len(self)))


@dataclass(frozen=True, eq=False)
class RealWalk(Walk):
    """A text through another people's model.

    Attributes:
        name: the model's.
        text: what is read.
    """

    name: str = ""
    text: str = ""

    @property
    def patterns(self) -> tuple[Array, ...]:
        """A layer [head, query, key]."""
        return patterns_of(self.name, self.text)

    @property
    def keep(self) -> Array:
        """[query, key], who may look at whom in a layer without a window."""
        n = encode(self.name, self.text)[0].n_tokens
        square: Array = np.ones((n, n), dtype=bool)
        return np.tril(square) if SHELF.load(self.name).causal else square


def walk_of(name: str, text: str) -> RealWalk:
    """The walk of a text; nothing of it is computed yet."""
    layers = Layers(name, text, SHELF.load(name).n_layers)
    return RealWalk(layers, None, name=name, text=text)


def patterns_key(name: str, text: str) -> tuple[object, ...]:
    """Under what the patterns of all heads are kept."""
    return "patterns", ("real", name), text


def patterns_of(name: str, text: str) -> tuple[Array, ...]:
    """The patterns of all heads of all layers, in one reading of the text."""
    return STORE.get(patterns_key(name, text), lambda: _patterns(name, text))


def _patterns(name: str, text: str) -> tuple[Array, ...]:
    """Read the text and keep every row."""
    import torch

    from mha_core.real.capture import Call, watching

    model, (read, _) = SHELF.load(name), encode(name, text)
    kept: list[Array] = []

    def look(call: Call) -> torch.Tensor:
        rows = call.rows()
        kept.append(rows[0].float().numpy())
        kept[-1].flags.writeable = False
        return call.collect(rows)

    network: Any = model.network
    with model.lock, torch.no_grad(), watching(look):
        network.base_model(input_ids=torch.tensor([read.ids]))
    return tuple(kept)


@dataclass(frozen=True)
class Sizes:
    """One layer's heads, as they are called.

    Attributes:
        n_heads, n_kv_heads, d_head, d_value: of the layer.
    """

    n_heads: int
    n_kv_heads: int
    d_head: int
    d_value: int


def sizes_of(name: str) -> tuple[Sizes, ...]:
    """The sizes of every layer's heads, as one token through the model shows them."""
    return STORE.get(("sizes", ("real", name)), lambda: _sizes(SHELF.load(name)))


def _sizes(model: RealModel) -> tuple[Sizes, ...]:
    """Read one token."""
    import torch

    from mha_core.real.capture import capture_calls

    with model.lock:
        calls = capture_calls(model.network, input_ids=torch.tensor([[3]]))
    return tuple(
        Sizes(call.n_heads, call.n_kv_heads, call.q.shape[-1], call.v.shape[-1]) for call in calls
    )


def config_of(name: str, layer: int) -> AttentionConfig:
    """The sizes of a layer, for pages that show no steps of it."""
    return STORE.get(("config", ("real", name), layer), lambda: _config(name, layer))


def _config(name: str, layer: int) -> AttentionConfig:
    """Put them together from what the heads are called with."""
    every = sizes_of(name)
    sizes = every[min(layer, len(every) - 1)]
    network: Any = SHELF.load(name).network
    width = network.config.get_text_config().hidden_size
    return AttentionConfig(
        width, sizes.n_heads, n_kv_heads=sizes.n_kv_heads, d_head=sizes.d_head,
        d_value=sizes.d_value, causal=False,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Expected:
    """What a model expects after each token of a text.

    Attributes:
        ids: [token, rank], the most probable next tokens.
        chances: [token, rank], their probabilities.
        actual: [token], that of the token which follows; NaN for the last.
    """

    ids: NDArray[np.int64]
    chances: NDArray[np.float32]
    actual: NDArray[np.float32]


def expected_of(name: str, text: str) -> Expected | None:
    """What comes next after every token; None for a model that does not say."""
    if not SHELF.load(name).speaks:
        return None
    return STORE.get(("expected", ("real", name), text), lambda: _expected(name, text))


def _expected(name: str, text: str) -> Expected:
    """Read the text and keep the best of every place."""
    import torch

    model, (read, _) = SHELF.load(name), encode(name, text)
    ids = torch.tensor([read.ids])
    network: Any = model.network
    with model.lock, torch.no_grad():
        chances = network(input_ids=ids).logits[0].float().softmax(-1)
    best = chances.topk(SHOWN, dim=-1)
    following = chances[:-1].gather(-1, ids[0, 1:, None])[:, 0]
    actual = np.append(following.numpy(), np.float32("nan"))
    return Expected(best.indices.numpy(), best.values.numpy(), actual)


def display(name: str, token: int) -> str:
    """A token of a model in a form a person can read."""
    from mha_core.real.writer import RealWriter

    return RealWriter(SHELF.load(name)).display(token)


@dataclass(frozen=True, eq=False)
class RealLayer:
    """A layer's record, and how far each step is from what the model itself computed.

    Attributes:
        trace: the record.
        proof: step → the largest distance.
        hidden: why its first steps are not shown, where the layer makes queries, keys and values
            in a way of its own.
    """

    trace: AttentionTrace
    proof: Mapping[str, float]
    hidden: Note | None


def layer_of(name: str, text: str, number: int) -> RealLayer:
    """A layer, step by step, held against what was captured.

    Raises:
        DataError: it cannot be shown step by step; see `mha_core.real.layer.real_layer`.
    """
    return STORE.get(layer_key(name, text, number), lambda: _layer(name, text, number))


def _layer(name: str, text: str, number: int) -> RealLayer:
    """Read the text and walk the layer."""
    from mha_core.real.layer import real_layer

    found = real_layer(SHELF.load(name), encode(name, text)[0], number)
    return RealLayer(found.trace, dict(found.proof), found.hidden)


def layer_key(name: str, text: str, number: int) -> tuple[object, ...]:
    """Under what a layer is kept."""
    return "layer", ("real", name), text, number


def hidden_of(scene: Scene) -> Note | None:
    """Why the first steps of a scene's layer are not shown, or None."""
    if scene.weights != "real":
        return None
    name = name_of(scene)
    number = min(scene.layer, SHELF.load(name).n_layers - 1)
    return layer_of(name, scene.text, number).hidden


def proof_of(scene: Scene) -> Mapping[str, float] | None:
    """How far each step of a scene's layer is from what the model itself computed; None for
    weights that are no other people's model."""
    if scene.weights != "real":
        return None
    name = name_of(scene)
    number = min(scene.layer, SHELF.load(name).n_layers - 1)
    return layer_of(name, scene.text, number).proof
