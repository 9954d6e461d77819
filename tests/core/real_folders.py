"""Folders of models that a test makes: a small model's files, as transformers saves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mha_core.sizes.quiet import one_at_a_time
from tests.core.real_families import Family, build

CONTROL = ("<pad>", "<bos>", "<eos>")


def words_tokenizer(n_words: int = 99) -> Any:
    """A fast tokenizer of whole words, "w3", "w4", …, as many as the small models know."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = [*CONTROL, *(f"w{number}" for number in range(len(CONTROL), n_words))]
    made = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="w3"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens([AddedToken(name, special=True) for name in CONTROL])
    return _wrapped(PreTrainedTokenizerFast, made)


def bytes_tokenizer() -> Any:
    """A byte-level one without merges: a Chinese character is three tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*CONTROL, *letters, "Ġt", "Ġth", "æĪ"]
    made = Tokenizer(
        models.BPE(
            {name: number for number, name in enumerate(names)},
            [("Ġ", "t"), ("Ġt", "h"), ("æ", "Ī")],
        )
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(name, special=True) for name in CONTROL])
    return _wrapped(PreTrainedTokenizerFast, made)


def _wrapped(kind: Any, made: Any) -> Any:
    pad, bos, eos = CONTROL
    with one_at_a_time():
        return kind(tokenizer_object=made, pad_token=pad, bos_token=bos, eos_token=eos)


def save_folder(folder: Path, family: Family, tokenizer: Any = None) -> Path:
    """Write a small model and a tokenizer as a folder of files."""
    with one_at_a_time():
        build(family).save_pretrained(folder)
        (tokenizer or words_tokenizer()).save_pretrained(folder)
    return folder
