"""Check and clean the numbers of a config: whole, positive, believable."""

from __future__ import annotations

import math
import re

from mha_core.errors import DataError, Note
from mha_core.sizes.read import Json

# One idea, many names. The first name that a file states counts.
NAMES: dict[str, tuple[str, ...]] = {
    "d_model": (
        "hidden_size", "d_model", "n_embd", "dim", "embed_dim", "n_embed", "width", "model_dim",
    ),
    "n_heads": (
        "num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads",
        "attention_heads", "num_query_heads",
    ),
    "n_kv_heads": (
        "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "n_kv_heads",
    ),
    "d_head": ("head_dim", "d_kv", "kv_channels", "d_head", "attention_head_size", "head_size"),
    "n_layers": (
        "num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "depth",
        "layers", "num_transformer_layers",
    ),
    "d_mlp": ("intermediate_size", "n_inner", "d_ff", "ffn_dim", "ffn_hidden_size", "d_inner"),
    "n_words": ("vocab_size", "padded_vocab_size"),
}  # fmt: skip
# Where a composite file keeps its language model.
MAIN_NAMES = ("thinker_config", "text_config", "language_config", "llm_config")
# Far above any model that exists, far below what would hurt to build on the meta device.
LIMITS = {
    "d_model": 2**20, "n_heads": 2**16, "n_kv_heads": 2**16, "d_head": 2**20, "n_layers": 2_000,
    "d_mlp": 2**24, "n_words": 2**28,
}  # fmt: skip
MEANING = {name: meaning for meaning, names in NAMES.items() for name in names}
MEANING |= {
    "global_head_dim": "d_head",
    "num_global_key_value_heads": "n_kv_heads",
    "decoder_layers": "n_layers",
    "decoder_attention_heads": "n_heads",
    "num_decoder_layers": "n_layers",
    "encoder_ffn_dim": "d_mlp",
    "decoder_ffn_dim": "d_mlp",
    "moe_intermediate_size": "d_mlp",
}
# Names that mean something else elsewhere in a config: kept as they are unless they are sizes.
VAGUE = {"depth", "width", "dim", "layers", "head_size", "d_inner"}
# Zero is a setting here: no second tower, no experts.
MAY_BE_ZERO = {"num_decoder_layers", "decoder_layers", "moe_intermediate_size"}
# Other counts are only kept from filling the memory: at most so many labels, experts, positions.
OTHER_COUNT = re.compile(
    r"(^|_)(num|n|size|dim|rank|depths?|length|positions?|labels|experts)(_|$)"
)
OTHER_LIMIT = 2**31
MANY = re.compile(r"(^|_)(num_labels|num_experts|n_routed_experts|num_local_experts)$")
MANY_LIMIT = 100_000
MAX_LIST = 200_000
MAX_DEPTH = 20


def check(config: Json) -> tuple[Json, list[Note]]:
    """Return `config` with its sizes as plain integers, and notes on what was odd.

    Args:
        config: a JSON object.

    Raises:
        DataError: a size is NaN, fractional, zero, negative, absurd or no number at all; the
            text names the key.

    >>> config, notes = check({"hidden_size": "768", "num_attention_heads": 12.0})
    >>> config["hidden_size"], config["num_attention_heads"], len(notes)
    (768, 12, 2)
    """
    notes: list[Note] = []
    _check_names(config)
    return _check_object(config, "", notes, depth=0), notes


def _check_names(config: Json) -> None:
    """The two keys that say which architecture this is hold names."""
    model_type, classes = config.get("model_type"), config.get("architectures")
    if model_type is not None and not isinstance(model_type, str):
        raise DataError("sizes.value.name", name="model_type", value=shown(model_type))
    listed = classes if isinstance(classes, list) else [classes]
    if classes is not None and not all(isinstance(name, str) for name in listed):
        raise DataError("sizes.value.name", name="architectures", value=shown(classes))


def _check_object(config: Json, path: str, notes: list[Note], depth: int) -> Json:
    if depth > MAX_DEPTH:
        raise DataError("sizes.json.deep")
    return {
        key: _check_value(key, f"{path}{key}", value, notes, depth) for key, value in config.items()
    }


def _check_value(key: str, path: str, value: object, notes: list[Note], depth: int) -> object:
    if isinstance(value, dict):
        _check_names(value)
        return _check_object(value, f"{path}.", notes, depth + 1)
    if isinstance(value, list):
        if len(value) > MAX_LIST:
            raise DataError("sizes.value.long", name=path, length=len(value), limit=MAX_LIST)
        return [
            _check_value(key, f"{path}[{place}]", item, notes, depth + 1)
            for place, item in enumerate(value)
        ]
    if key in MEANING and (key not in VAGUE or type(value) is int):
        return _check_size(key, path, value, notes)
    return _check_other(key, path, value, notes)


def _check_size(key: str, path: str, value: object, notes: list[Note]) -> object:
    """A size is null or a whole number above zero and below its limit."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise DataError("sizes.value.kind", name=path, value=shown(value))
    number = _whole(path, value, notes)
    if number == -1 and MEANING[key] == "n_words":
        notes.append(Note("sizes.note.no_vocabulary", name=path))
        return None
    if number < 0 or (number == 0 and key not in MAY_BE_ZERO):
        raise DataError("sizes.value.positive", name=path, value=number)
    limit = LIMITS[MEANING[key]]
    if number > limit:
        raise DataError("sizes.value.absurd", name=path, value=number, limit=limit)
    return number


def _whole(path: str, value: float | str, notes: list[Note]) -> int:
    if isinstance(value, int):
        return value
    try:
        number = float(value)
    except ValueError:
        raise DataError("sizes.value.kind", name=path, value=shown(value)) from None
    if math.isnan(number):
        raise DataError("sizes.value.nan", name=path)
    if math.isinf(number):
        raise DataError("sizes.value.absurd", name=path, value=shown(value), limit="2^28")
    if not number.is_integer():
        raise DataError("sizes.value.whole", name=path, value=shown(value))
    notes.append(Note("sizes.note.number", name=path, value=shown(value), number=int(number)))
    return int(number)


def _check_other(key: str, path: str, value: object, notes: list[Note]) -> object:
    """Any other value passes, unless it is a count that would fill the memory."""
    if isinstance(value, float) and not math.isfinite(value):
        notes.append(Note("sizes.note.infinite", name=path, value=value))
        # transformers reads the word as JSON does.
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    limit = MANY_LIMIT if MANY.search(key) else OTHER_LIMIT
    if isinstance(value, int) and OTHER_COUNT.search(key) and abs(value) > limit:
        raise DataError("sizes.value.absurd", name=path, value=value, limit=limit)
    return value


def shown(value: object) -> str:
    """A value as JSON would write it, cut after forty characters."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 40 else text[:37] + "…"


def stated(config: Json, meaning: str) -> tuple[str, object] | None:
    """The key and value by which a config states one of its sizes, null skipped.

    >>> stated({"n_embd": 768}, "d_model")
    ('n_embd', 768)
    """
    for name in NAMES[meaning]:
        if config.get(name) is not None:
            return name, config[name]
    return None


def refuse_missing(config: Json) -> None:
    """Refuse an object that states no width, no heads or no depth.

    Raises:
        DataError: one is missing; the text names the keys it may have.
    """
    for meaning in ("d_model", "n_heads", "n_layers"):
        if stated(config, meaning) is None:
            names = NAMES[meaning]
            raise DataError("sizes.keys.missing", name=names[0], names=", ".join(names))


def refuse_uneven(config: Json) -> None:
    """Refuse heads that do not fit the width they share, or KV heads that do not fit the heads.

    Args:
        config: a checked object that states its sizes itself.

    Raises:
        DataError: d_model is not divisible by the heads and no head size is given, or the heads
            are not divisible by the KV heads.
    """
    d_model, n_heads, n_kv_heads = (
        stated(config, name) for name in ("d_model", "n_heads", "n_kv_heads")
    )
    if not n_heads or type(n_heads[1]) is not int:
        return
    if n_kv_heads and type(n_kv_heads[1]) is int and n_heads[1] % n_kv_heads[1]:
        raise DataError(
            "sizes.share",
            h_name=n_heads[0], n_heads=n_heads[1],
            kv_name=n_kv_heads[0], n_kv_heads=n_kv_heads[1],
        )  # fmt: skip
    own_size = stated(config, "d_head") or "qk_nope_head_dim" in config
    if not own_size and d_model and type(d_model[1]) is int and d_model[1] % n_heads[1]:
        raise DataError(
            "sizes.divide",
            d_name=d_model[0], d_model=d_model[1], h_name=n_heads[0], n_heads=n_heads[1],
        )  # fmt: skip
