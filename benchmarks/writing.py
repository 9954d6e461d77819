"""Writing on with every head's rows kept, beside writing on without them.

    python -m benchmarks.writing [--tokens 24] [--turns 9] [--model SmolLM2-135M-Instruct]

For the toy model the rival is the same cached decoding through PyTorch's fused attention, with no
row kept; for a model of transformers it is `generate` with its own attention, greedy. Both write
the same text, which is checked. Rivals take turns, the clock is the thread's own processor time,
and a ratio is the median of the ratios within each turn.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch.nn.functional import linear

from mha_core.cache import KVCache
from mha_core.continuing import continue_text
from mha_core.fused import attend_fused
from mha_core.layer import join_heads, prepare
from mha_core.model.checkpoint import load_toy_model
from mha_core.model.toy import ToyModel
from mha_core.model.writer import ToyWriter
from mha_core.norms import rms_norm

TEXT = "The cat sat on the mat because it was tired."
Write = Callable[[], list[int]]


def main() -> None:
    """Measure and print a row a model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--model", help="a folder's name among the models")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rivals = {"toy": toy_rivals(options.tokens)}
    if options.model:
        rivals[options.model] = real_rivals(options.model, options.tokens)
    print("| model | with rows, ms a token | without | ratio |\n|--|--|--|--|")
    for name, (ours, theirs) in rivals.items():
        assert ours() == theirs(), f"{name}: the two write different texts"
        mine, other = take_turns(ours, theirs, options.turns)
        ratio = statistics.median(a / b for a, b in zip(mine, other, strict=True))
        each = [1000 * statistics.median(times) / options.tokens for times in (mine, other)]
        print(f"| {name} | {each[0]:.1f} | {each[1]:.1f} | {ratio:.2f} |")


def take_turns(ours: Write, theirs: Write, turns: int) -> tuple[list[float], list[float]]:
    """Processor seconds of each, one after the other."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns):
        for place in (0, 1) if turn % 2 else (1, 0):
            start = time.thread_time()
            (ours, theirs)[place]()
            times[place].append(time.thread_time() - start)
    return times


def toy_rivals(n: int) -> tuple[Write, Write]:
    """The toy model, with every head's rows and without."""
    model = load_toy_model()
    writer = ToyWriter(model)
    return (
        lambda: [new.id for new in continue_text(writer, TEXT, n)],
        lambda: write_plainly(model, model.ids_of(TEXT), n),
    )


def write_plainly(model: ToyModel, ids: list[int], n: int) -> list[int]:
    """Decode with a cache and nothing besides."""
    caches: list[KVCache | None] = [None] * model.n_layers
    said, new = [], ids
    with torch.inference_mode():
        for _ in range(n):
            stream = model.embedding[torch.tensor(new)]
            for number, layer in enumerate(model.each_layer()):
                made, cache, start = prepare(
                    rms_norm(stream, layer.norm), layer.weights, model.config,
                    x_kv=None, keep=None, bias=None, positions=None, cache=caches[number],
                )  # fmt: skip
                caches[number] = cache
                heads = attend_fused(
                    made.q_rot, cache.k_rot, cache.v, None, model.config, start, keep=None,
                    bias=None,
                )  # fmt: skip
                stream = stream + linear(join_heads(heads), layer.weights.w_o)
                stream = stream + layer.mlp(stream) if layer.d_mlp else stream
            logits = linear(rms_norm(stream[-1], model.norm), model.unembedding)
            new = [int(logits.argmax())]
            said += new
    return said


def real_rivals(name: str, n: int) -> tuple[Write, Write]:
    """A model of transformers, with every head's rows, and its own `generate`."""
    from transformers import AutoModelForCausalLM

    from mha_core.real.load import load_model
    from mha_core.real.writer import RealWriter

    model = load_model(name, device="cpu")
    writer = RealWriter(model)
    plain = AutoModelForCausalLM.from_pretrained(
        model.card.folder, dtype=torch.float32, attn_implementation="sdpa", use_safetensors=True,
        trust_remote_code=False, local_files_only=True,
    ).eval()  # fmt: skip
    ids = torch.tensor([writer.encode(TEXT)])

    def generate() -> list[int]:
        with torch.inference_mode():
            found = plain.generate(ids, max_new_tokens=n, do_sample=False, pad_token_id=0)
        return [int(token) for token in found[0, ids.shape[1] :]]

    return lambda: [new.id for new in continue_text(writer, TEXT, n)], generate


if __name__ == "__main__":
    main()
