"""What may be changed in a run: each change equals doing it by hand, and nothing else moves."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear

from mha_core.errors import ConfigError, ShapeError
from mha_core.heads.ablation import ablate
from mha_core.language.tokenizer import load_tokenizer
from mha_core.layer import attention
from mha_core.model.edits import (
    ATTENTION_PARTS,
    EMBEDDING,
    Edits,
    Head,
    OpenModel,
    Path,
    every_path,
    forbid_edges,
)
from mha_core.model.toy import ModelConfig, ModelSteps, ToyModel
from mha_core.norms import rms_norm
from mha_core.rope import rotate

N_LAYERS, N_HEADS = 3, 3
HEADS: list[Head] = list(itertools.product(range(N_LAYERS), range(N_HEADS)))
SENDERS = [EMBEDDING, *HEADS]
CLEAN, CORRUPTED = "The cat saw the dog.", "The dog ate the cat."


@pytest.fixture(scope="module", params=[(0, 0, 14), (10, 0, 0)], ids=str)
def model(request: pytest.FixtureRequest) -> ToyModel:
    """A model whose parts are all large enough to be missed, in float64, with no gradients."""
    sizes = ModelConfig(len(load_tokenizer()), d_model=12, n_heads=N_HEADS, d_mlp=request.param)
    made = ToyModel(sizes, seed=4)
    generator = torch.Generator().manual_seed(9)
    for parameter in made.parameters():
        parameter.requires_grad_(False)
        parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return made.double()


@pytest.fixture
def ids(model: ToyModel) -> Tensor:
    both = torch.tensor([model.ids_of(CLEAN), model.ids_of(CORRUPTED)])
    assert both.shape == (2, 7)
    return both


def added_by(model: OpenModel, run: ModelSteps, sender: Head) -> Tensor:
    """What a sender adds to the stream."""
    if sender == EMBEDDING:
        return run.streams[0]
    layer, head = sender
    return model.contributions(layer, run.heads[layer])[..., head, :, :]


def same(one: ModelSteps, two: ModelSteps) -> bool:
    """Whether two runs agree in every stream and in the logits."""
    pairs = zip((*one.streams, one.logits), (*two.streams, two.logits), strict=True)
    return all(torch.allclose(a, b, atol=1e-10) for a, b in pairs)


def test_patching_nothing_changes_nothing(model: ToyModel, ids: Tensor) -> None:
    run = model.run(ids)
    own = Edits(
        {(layer, head): run.heads[layer][..., head, :, :] for layer, head in HEADS},
        {head: added_by(model, run, head) for head in HEADS},
        {1: torch.zeros(7, 7, dtype=torch.bool)},
        {path: added_by(model, run, sender) for sender in SENDERS
         for path in every_path(sender, N_LAYERS)},
    )  # fmt: skip
    for edits in (own, Edits(), Edits(paths=own.paths), Edits(heads=own.heads)):
        assert same(model.run(ids, edits=edits), run)
        assert same(model.run(ids, edits=edits, known=run), run)


def test_patching_every_path_gives_the_corrupted_run(model: ToyModel, ids: Tensor) -> None:
    clean, corrupted = model.run(ids[0]), model.run(ids[1])
    assert not torch.allclose(clean.logits, corrupted.logits, atol=0.1)
    paths = {
        path: added_by(model, corrupted, sender)
        for sender in SENDERS
        for path in every_path(sender, N_LAYERS)
    }
    tokens = {path: value for path, value in paths.items() if path.sender == EMBEDDING}
    heads = {path: value for path, value in paths.items() if path.sender != EMBEDDING}
    for enough in (paths, tokens):  # what the tokens are decides what the heads give
        patched = model.run(ids[0], edits=Edits(paths=enough))
        assert torch.allclose(patched.logits, corrupted.logits, atol=1e-10)
        for one, two in zip(patched.patterns, corrupted.patterns, strict=True):
            assert torch.allclose(one, two, atol=1e-10)
    del tokens[Path(EMBEDDING, 1, "v", None)]
    for less in (tokens, heads):
        partly = model.run(ids[0], edits=Edits(paths=less)).logits
        assert not torch.allclose(partly, corrupted.logits, atol=1e-2)
        assert not torch.allclose(partly, clean.logits, atol=1e-2)


@pytest.mark.parametrize("sender", HEADS)
def test_all_paths_of_a_head_cut_are_the_head_taken_out(
    model: ToyModel, ids: Tensor, sender: Head
) -> None:
    means = torch.randn(N_LAYERS, N_HEADS, 4, dtype=torch.float64)
    out = model.run(ids, edits=ablate(model, [sender], mode="mean", means=means))
    instead = model.contributions(sender[0], means[sender[0]][:, None])[sender[1]]
    cut = Edits(paths=dict.fromkeys(every_path(sender, N_LAYERS), instead))
    assert torch.allclose(model.run(ids, edits=cut).logits, out.logits, atol=1e-10)
    after = model.run(ids, edits=Edits(outputs={sender: instead}))
    assert same(after, out), "the same before W_o and after it"


@pytest.mark.parametrize("part", ATTENTION_PARTS)
@pytest.mark.parametrize("head", [None, 1])
def test_one_receiver_reads_something_else_and_no_other_does(
    model: ToyModel, ids: Tensor, part: str, head: int | None
) -> None:
    run, path = model.run(ids), Path((0, 2), 2, part, head)  # type: ignore[arg-type]
    value = torch.linspace(-1, 1, 12, dtype=torch.float64)
    patched = model.run(ids, edits=Edits(paths={path: value}))
    layer = list(model.each_layer())[2]
    read = rms_norm(run.streams[2] - added_by(model, run, (0, 2)) + value, layer.norm)
    x = rms_norm(run.streams[2], layer.norm)
    for other in range(N_HEADS):  # by hand: a layer of which one head is looked at
        reads = dict.fromkeys(ATTENTION_PARTS, x)
        if head in (None, other):
            reads[part] = read
        weights = layer.weights
        pairs = {name: linear(reads[name], getattr(weights, f"w_{name}")) for name in reads}
        at = slice(4 * other, 4 * other + 4)
        q, k, v = (pairs[name][..., at] for name in ATTENTION_PARTS)
        rope = model.config.rope
        assert rope is not None
        scores = rotate(q, rope) @ rotate(k, rope).mT / 2
        scores = scores.masked_fill(~torch.ones(7, 7, dtype=torch.bool).tril(), float("-inf"))
        assert torch.allclose(patched.patterns[2][:, other], scores.softmax(-1), atol=1e-10)
        assert torch.allclose(patched.heads[2][:, other], scores.softmax(-1) @ v, atol=1e-10)
    assert torch.equal(patched.patterns[1], run.patterns[1])
    assert not torch.allclose(patched.logits, run.logits, atol=1e-4)


def test_what_is_known_need_not_be_computed_again(model: ToyModel, ids: Tensor) -> None:
    known, value = model.run(ids), torch.ones(12, dtype=torch.float64)
    for edits in (
        Edits(heads={(1, 0): torch.tensor(0.0)}),
        Edits(outputs={(2, 1): value}),
        forbid_edges([(1, 2, 5, 3)], N_HEADS, 7),
        *(Edits(paths={path: value}) for path in every_path((0, 1), N_LAYERS)),
        Edits({(0, 1): torch.tensor(0.5)}, {(1, 1): value}, {}, {Path((1, 1), 2, "k", 0): -value}),
    ):
        assert same(model.run(ids, edits=edits), model.run(ids, edits=edits, known=known))
        moved = model.run(ids, edits=edits).logits
        unread = [path.part == "mlp" and not model.sizes.d_mlp[path.layer] for path in edits.paths]
        assert torch.equal(moved, known.logits) == any(unread), "no MLP, no one who reads"


def test_edits_add_up_in_one_run(model: ToyModel, ids: Tensor) -> None:
    one = forbid_edges([(0, 0, 6, 1)], N_HEADS, 7) | forbid_edges([(0, 2, 6, 1)], N_HEADS, 7)
    assert one.forbidden[0].nonzero().tolist() == [[0, 6, 1], [2, 6, 1]]
    pattern = model.run(ids, edits=one).patterns[0]
    assert (pattern[:, [0, 2], 6, 1] == 0).all()
    assert (pattern[:, 1, 6, 1] > 0).all()
    two = Edits(heads={(0, 1): torch.tensor(1.0)}) | Edits(heads={(0, 1): torch.tensor(2.0)})
    assert (model.run(ids, edits=two).heads[0][:, 1] == 2).all()


def test_the_exact_output_of_another_run_is_put_in_place_by_place(
    model: ToyModel, ids: Tensor
) -> None:
    other = model.run(ids[1])
    run = model.run(ids[0], edits=ablate(model, [(1, 2)], mode="exact", other=other))
    assert torch.equal(run.heads[1][2], other.heads[1][2])
    everything = ablate(model, HEADS, mode="exact", other=other)
    run = model.run(ids[0], edits=everything | Edits(
        paths=dict.fromkeys(every_path(EMBEDDING, N_LAYERS), other.streams[0])
    ))  # fmt: skip
    assert torch.allclose(run.logits, other.logits, atol=1e-10)


def test_what_the_model_has_not_is_refused_in_words(model: ToyModel, ids: Tensor) -> None:
    nothing = torch.tensor(0.0)
    for path in (Path((1, 0), 1, "q"), Path((1, 0), 3, "k"), Path((1, 0), 0, "mlp"),
                 Path((0, 0), 2, "out")):  # fmt: skip
        with pytest.raises(ConfigError, match=f"No path leads from layer {path.sender[0]}"):
            model.run(ids, edits=Edits(paths={path: nothing}))
    with pytest.raises(ConfigError, match="Layer 1, head 3 does not exist"):
        model.run(ids, edits=Edits(paths={Path((0, 0), 1, "q", 3): nothing}))
    with pytest.raises(ConfigError, match="Layer 0, head 7 does not exist"):
        model.run(ids, edits=Edits(outputs={(0, 7): nothing}))
    with pytest.raises(ConfigError, match="Layer 9, head 0 does not exist"):
        model.run(ids, edits=forbid_edges([(9, 0, 0, 0)], N_HEADS, 7))
    with pytest.raises(ConfigError, match="part = 'w' is not"):
        model.run(ids, edits=Edits(paths={Path((0, 0), 1, "w"): nothing}))  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"has the shape \(5,\)"):
        model.run(ids, edits=Edits(heads={(0, 0): torch.zeros(5)}))
    with pytest.raises(ConfigError, match="Exact ablation needs"):
        ablate(model, [(0, 0)], mode="exact")


def test_folded_weights_read_the_stream_before_its_gain(model: ToyModel, ids: Tensor) -> None:
    run = model.run(ids)
    bare = rms_norm(run.streams[1])
    assert torch.allclose(
        attention(bare, model.folded(1), model.config).out, run.layers[1].out, atol=1e-10
    )
