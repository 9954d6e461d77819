"""Real files with one thing changed, and what must then hold of every answer.

    python -m tests.core.sizes_mutations 1000

A mutation drops a key, empties it, resizes it, adds one that may change a size, changes a pattern
of layers, or names another class. Whatever the reader then answers is what the class answers when
it is built and run, or it is null; the quick answer is the built one or none; and what a class
fills in for a dropped key is named.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mha_core.errors import DataError
from mha_core.sizes import Sizes, elements_per_token, measure
from tests.core.sizes_truth import Truth, named_class, truth_of

FOLDERS = [Path(__file__).parents[1] / "data" / name for name in ("configs", "outside")]
MOST_LAYERS = 6
DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers",
          "decoder_layers", "num_decoder_layers", "depth")  # fmt: skip
# Keys of other people's models, or of other families, that change what a layer is.
ALIEN: list[tuple[str, Any]] = [
    ("multi_query", True), ("attention_head_type", "multiquery"), ("num_key_value_heads", 1),
    ("n_head_kv", 1), ("head_dim", 24), ("kv_lora_rank", 16), ("attn_type", "multiquery_attention"),
    ("mlp_bias", True), ("attention_bias", True), ("num_experts", 4), ("num_local_experts", 4),
    ("n_routed_experts", 4), ("position_embedding_type", "alibi"), ("alibi", True),
    ("sliding_window", 7), ("use_sliding_window", True), ("max_window_layers", 1),
    ("attention_chunk_size", 8), ("num_kv_shared_layers", 2), ("feed_forward_type", "geglu"),
    ("hidden_act", "swiglu"), ("hidden_act", "never_heard_of"), ("embedding_size", 24),
    ("tie_word_embeddings", True), ("tie_word_embeddings", False), ("vision_config", {"width": 8}),
    ("visual", {"layers": 3, "width": 16}), ("hybrid_override_pattern", "M*"),
    ("linear_attn_config", {"full_attn_layers": [1]}), ("moe_intermediate_size", 32),
    ("auto_map", {"AutoConfig": "own.OwnConfig"}), ("ssm_state_size", 16), ("comment", "hello"),
    ("intermediate_size", 40), ("vocab_size", 77), ("num_nextn_predict_layers", 1),
]  # fmt: skip
CLASSES = ("ForCausalLM", "Model", "ForSequenceClassification", "ForTokenClassification",
           "EncoderModel", "ForConditionalGeneration", "ForMaskedLM", "ForQuestionAnswering",
           "LMHeadModel", "ForNothingThatIsHere")  # fmt: skip
# Notes of a file that transformers will not take at all, so that nothing is built to compare with.
REFUSED = {"sizes.note.no_config", "sizes.note.no_build"}
UNHEARD = ("never_heard_of", "situ")
LAYER_LISTS = ("layer_types", "layers_block_type", "mlp_layer_types", "attention_layers")


@cache
def originals() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Every real file that names a class transformers has, cut to a few layers."""
    found = []
    for path in sorted(path for folder in FOLDERS for path in folder.glob("*.json")):
        if path.stem.startswith("malformed"):
            continue
        config = json.loads(path.read_text("utf-8-sig"))
        if named_class(config) is None:
            continue
        found.append((path.stem, cut(config)))
    return tuple(found)


def cut(config: dict[str, Any]) -> dict[str, Any]:
    """The same file with at most six layers, and lists with one entry a layer cut to match."""
    depth = max((config[name] for name in DEPTHS if isinstance(config.get(name), int)), default=0)
    found: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            found[key] = cut(value)
        elif key in DEPTHS and isinstance(value, int):
            found[key] = min(value, MOST_LAYERS)
        elif isinstance(value, list) and len(value) == depth > MOST_LAYERS:
            found[key] = value[-MOST_LAYERS:]
        elif key == "hybrid_override_pattern" and isinstance(value, str):
            found[key] = value[-MOST_LAYERS:] if "*" in value[-MOST_LAYERS:] else "M-*M*E"[:6]
        else:
            found[key] = value
    return found


def mutate(seed: int) -> tuple[str, str, str, dict[str, Any], dict[str, Any]]:
    """One file with one change.

    Returns:
        The file's name, the kind of change, the key it is about, the file before, and after.
    """
    rng = random.Random(seed)
    name, before = rng.choice(originals())
    config = copy.deepcopy(before)
    kind = rng.choice(["drop", "drop", "drop", "null", "resize", "add", "add", "pattern", "class"])
    place = _place(config, rng)
    plain = [key for key, value in place.items() if not isinstance(value, dict)]
    sizes = [key for key in plain if type(place[key]) is int and "token" not in key]
    key = ""
    if kind in ("drop", "null") and plain:
        key = rng.choice(plain)
        if kind == "drop":
            del place[key]
        else:
            place[key] = None
    elif kind == "resize" and sizes:
        key = rng.choice(sizes)
        place[key] = rng.choice([1, 2, 3, place[key] * 2, place[key] // 2, place[key] + 1])
    elif kind == "add":
        key, value = rng.choice(ALIEN)
        place[key] = value
    elif kind == "pattern":
        key = _change_pattern(place, rng)
    elif kind == "class":
        key = "architectures"
        family = _family(config["architectures"][0])
        config["architectures"] = [family + rng.choice(CLASSES)]
    return name, kind, key, before, config


def _place(config: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The file's object, or now and then one of its parts."""
    parts = [
        value
        for key, value in config.items()
        if isinstance(value, dict) and key.endswith("_config") and "quant" not in key
    ]
    return rng.choice([config, *parts])


def _change_pattern(place: dict[str, Any], rng: random.Random) -> str:
    """Another kind of layer somewhere, or a pattern where there was none."""
    depth = next((place[name] for name in DEPTHS if isinstance(place.get(name), int)), 2)
    key = next((name for name in LAYER_LISTS if isinstance(place.get(name), list)), "layer_types")
    kinds = sorted(set(place.get(key) or [])) or ["full_attention", "sliding_attention"]
    place[key] = [rng.choice(kinds) for _ in range(min(depth, 12))]
    return key


def _family(name: str) -> str:
    """`Llama` of `LlamaForCausalLM`."""
    for ending in sorted(CLASSES, key=len, reverse=True):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name.split("For")[0]


def faults(seed: int) -> Iterator[str]:
    """What is wrong with the answers to one mutation; nothing, where all is well."""
    name, kind, key, before, config = mutate(seed)
    where = f"{seed} {name}: {kind} {key}"
    try:
        built = measure(copy.deepcopy(config))
    except DataError:
        built = None
    try:
        quick = measure(copy.deepcopy(config), totals=False)
    except DataError:
        quick = None
    # The function between two matrices changes no shape; a class cannot be built with a new one.
    truth = truth_of({name: value for name, value in config.items() if value not in UNHEARD})
    if truth is None and kind == "null":
        # Many classes refuse an empty value; the reader gives it its usual meaning, and says so.
        truth = truth_of(_usual(config))
    if built is not None:
        yield from (f"{where}: {fault}" for fault in _against_truth(built, truth, config))
        if quick is not None:
            yield from (f"{where}: {fault}" for fault in _quick_against_built(quick, built))
        if kind == "drop":
            yield from (f"{where}: {fault}" for fault in _is_named(built, before, key))


def _usual(config: dict[str, Any]) -> dict[str, Any]:
    """Null KV heads are as many as heads, any other null is as if it were not there."""
    found = {
        key: _usual(value) if isinstance(value, dict) else value
        for key, value in config.items()
        if value is not None
    }
    if config.get("num_key_value_heads", 0) is None:
        found["num_key_value_heads"] = config.get("num_attention_heads")
    return found


def _against_truth(built: Sizes, truth: Truth | None, config: dict[str, Any]) -> Iterator[str]:
    total = built.parameters.total
    if truth is None:
        if total is not None:
            yield f"total {total} of a class that cannot be built"
        return
    if total is not None and total != truth.total:
        yield f"total {total}, built {truth.total}"
    if built.cache is None or truth.kept is None or config.get("model_type") == "falcon":
        # Falcon's code repeats its KV heads before it keeps them; what has to be kept is less.
        return
    if any(note.key == "sizes.note.unread_attention" for note in built.notes):
        # The file's own numbers, with the key that the class passes over named in a note.
        return
    kept = elements_per_token(built.cache)
    if kept != truth.kept:
        yield f"{kept} numbers a token, kept {truth.kept}"
    windows: Counter[int | None] = Counter()
    for group in built.cache:
        windows[group.window] += group.count
    if windows != truth.windows:
        yield f"windows {dict(windows)}, kept {dict(truth.windows or {})}"


def answers(sizes: Sizes) -> dict[str, object]:
    """Everything a reader may take for a fact."""
    return {
        "n_kv_heads": sizes.first.n_kv_heads, "d_head": sizes.first.d_head,
        "n_layers": sizes.n_layers, "shapes": dict(sizes.first.shapes) or None,
        "bias": dict(sizes.first.bias) if any(sizes.first.bias.values()) else None,
        "attention": sizes.parameters.attention,
        "base": sizes.parameters.base, "total": sizes.parameters.total, "cache": sizes.cache,
    }  # fmt: skip


def _quick_against_built(quick: Sizes, built: Sizes) -> Iterator[str]:
    for key, value in answers(quick).items():
        other = answers(built)[key]
        if value is not None and other is not None and value != other:
            yield f"quick {key} {value}, built {other}"
        refused = any(note.key in REFUSED for note in built.notes)
        if quick.has_shapes and value is not None and other is None and not refused:
            yield f"quick {key} {value}, built none"


def _is_named(built: Sizes, before: dict[str, Any], key: str) -> Iterator[str]:
    """A dropped key that changed an answer is named in a note."""
    try:
        whole = measure(copy.deepcopy(before))
    except DataError:
        return
    told = " ".join(map(str, built.notes))
    for answer in ("total", "cache", "n_kv_heads"):
        then, now = answers(whole)[answer], answers(built)[answer]
        if None not in (then, now) and then != now and key not in told:
            yield f"{answer} went from {then} to {now} and no note names the key"


def main(count: int) -> int:
    """Try so many mutations; 1 where one answer is wrong."""
    found: list[str] = []
    kinds: Counter[str] = Counter()
    given = 0
    for seed in range(count):
        _, kind, *_, config = mutate(seed)
        kinds[kind] += 1
        found += faults(seed)
        try:
            given += measure(config).parameters.total is not None
        except DataError:
            continue
    print(f"{count} mutations of {len(originals())} files: {dict(kinds)}")
    print(f"{given} answered with a total, {len(found)} wrong")
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
