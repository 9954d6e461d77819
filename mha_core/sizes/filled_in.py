"""What a class fills in: the sizes a configuration object has and its file does not state."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from mha_core.errors import Note
from mha_core.sizes.build import attribute
from mha_core.sizes.read import Json

if TYPE_CHECKING:
    from torch import nn

# Names of sizes, and of switches that add or take away parameters or what is cached.
SIZE = re.compile(
    r"(^|_)(size|sizes|dim|dims|num|n|d|rank|heads?|layers?|width|depths?|window|experts?|ratio"
    r"|kernel|groups?|ffn|inner|channels|factor|expand|state|vocab|labels|head|every|step|stride"
    r"|pattern|period|offset|interval|interleave|frequency|freq|block|blocks|types?|chunk)(_|$|\d)"
)
SWITCH = re.compile(
    r"(^|_)(tie|bias|use_sliding_window|multi_query|parallel_attn|gated|glu|attention_k_eq_v"
    r"|new_decoder_architecture|share|shared|use_qk_norm|qk_norm|scale_qk|use_\w+_norm|alibi"
    r"|add_cross_attention|position_biased_input|relative_attention|c2p|norm_\w+"
    r"|double_wide|head|enable_moe_block|mla|attn_output_gate|apply_residual\w*)(_|$)"
)
# Numbers that are no sizes.
NO_SIZE = re.compile(
    r"(token|_id$|_ids$|initializer|dropout|eps$|scale|scaling|theta|bos|eos|pad|seed|temperature"
    r"|coef|loss|jitter|per_tok$|topk|top_k|max_new|penalty|prob|range|beta|alpha|gamma|limit"
    r"|chunk_size_feed_forward|pretraining_tp|capacity|_freq$|std$|epsilon|return|output_|problem"
    r"|time_step|logits_to_keep|median_filter|seconds|mtp|nextn|n_group$|topk_group|model_type|rope|image_token|mask_|sampling|feature_layer|select)"
)
POSITIONS = re.compile(r"position|n_ctx|max_len|length")
# Sizes that a class may do without: a file that had one and lost it describes another model.
NONE_OF = re.compile(r"(window|_size|_rank|_dim|n_inner)$")
MOST = 40


def filled_in(raw: Json, config: Any, root: nn.Module | None, prefix: str = "") -> Note | None:
    """Name every size that is not in the file, with the value its class gives it.

    Args:
        raw: the file's object for this part, by the names the class reads.
        config: the configuration object made from it.
        root: the model, whose tables tell whether a count of positions is a size.
        prefix: the path of keys to the part.
    """
    found = [f"{prefix}{name} = {_told(value)}" for name, value in _sizes(raw, config, root)]
    if not found:
        return None
    listed = ", ".join(found[:MOST]) + (", …" if len(found) > MOST else "")
    return Note("sizes.note.defaults", model_type=config.model_type, listed=listed)


def _sizes(raw: Json, config: Any, root: nn.Module | None) -> Iterator[tuple[str, object]]:
    kind = type(config)
    aliases: dict[str, set[str]] = {}
    for alias, name in kind.attribute_map.items():
        aliases.setdefault(name, set()).add(alias)
    lengths = None
    for name in kind.__dataclass_fields__:
        if name in raw or aliases.get(name, set()) & raw.keys() or name in kind.sub_configs:
            continue
        value = attribute(config, name)
        if value is None and NONE_OF.search(name):
            yield name, None
        elif POSITIONS.search(name) and isinstance(value, int) and not isinstance(value, bool):
            lengths = _lengths(root) if lengths is None else lengths
            if value in lengths:
                yield name, value
        elif _is_size(name, value):
            yield name, value


def _is_size(name: str, value: object) -> bool:
    if NO_SIZE.search(name):
        return False
    if isinstance(value, bool):
        return bool(SWITCH.search(name)) and not name.startswith("_")
    if isinstance(value, int | float):
        return bool(SIZE.search(name))
    if isinstance(value, list | tuple) and value:
        kinds = {type(item) for item in value}
        return bool(SIZE.search(name)) and kinds <= {int, str}
    return False


def _lengths(root: nn.Module | None) -> set[int]:
    """Rows of every table and bare parameter; a table of positions may hold two rows more."""
    import torch

    found: set[int] = set()
    for module in () if root is None else root.modules():
        if isinstance(module, torch.nn.Embedding):
            found |= {module.num_embeddings - more for more in range(3)}
        for parameter in module._parameters.values():
            if parameter is not None and parameter.ndim > 1:
                found |= set(parameter.shape[:2])
    return found


def _told(value: object) -> str:
    """A value as the file would write it; a long list as runs."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, list | tuple):
        runs = [(item, sum(1 for _ in run)) for item, run in groupby(value)]
        kinds = Counter(value)
        if len(value) <= 4:
            told = list(map(str, value))
        elif len(runs) <= 4:
            told = [f"{count} × {item}" for item, count in runs]
        elif len(kinds) <= 4:
            told = [f"{count} × {item}" for item, count in kinds.items()]
        else:
            told = [str(value[0]), str(value[1]), "…", str(value[-1])]
        return f"[{', '.join(told)}]"
    return str(value)
