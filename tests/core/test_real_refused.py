"""Folders that must not be loaded: one sentence each, nothing run, nothing loaded."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mha_core.errors import DataError
from mha_core.real.folder import SIZE_VARIABLE, card_of, list_models
from mha_core.real.load import load_model
from tests.core.real_families import FAMILIES, Family
from tests.core.real_folders import save_folder, words_tokenizer

LLAMA = next(family for family in FAMILIES if family.name == "llama")
RUN = Path("run")  # what code of a folder would leave behind
WEIGHTS, TOKENS = "model.safetensors", "tokenizer.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("whole") / "tiny", LLAMA)


@pytest.fixture
def folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(whole, tmp_path / "models" / "tiny"))


def change(**keys: Any) -> Callable[[Path], None]:
    """Write other values into config.json; None takes a key out."""

    def spoil(folder: Path) -> None:
        path = folder / "config.json"
        config = json.loads(path.read_text()) | keys
        path.write_text(json.dumps({key: each for key, each in config.items() if each is not None}))

    return spoil


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def remove(*names: str) -> Callable[[Path], None]:
    return lambda folder: [(folder / name).unlink() for name in names] and None


def sparse(name: str, n_bytes: int) -> Callable[[Path], None]:
    """A file that says it is so large, and takes no room."""

    def spoil(folder: Path) -> None:
        with (folder / name).open("ab") as file:
            file.truncate(n_bytes)

    return spoil


def both(*spoilers: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda folder: [spoil(folder) for spoil in spoilers] and None


class Evil:
    """What a pickle may do when it is opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (RUN,)


def with_tensor(name: str, value: float, width: int) -> Callable[[Path], None]:
    """Store a tensor, in place of one or besides."""

    def spoil(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS) | {name: torch.full((width,), value)}
        save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})

    return spoil


CODE = b"from pathlib import Path\nPath('run').touch()\nclass Config: pass\nclass Model: pass\n"
BROUGHT = {"AutoConfig": "code.Config", "AutoModel": "code.Model"}
PICKLE = pickle.dumps(Evil())


def cut(name: str, keep: int) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:keep]) and None


def other_tokens(folder: Path) -> None:
    words_tokenizer(200).save_pretrained(folder)


def t5(folder: Path) -> None:
    change(model_type="t5", architectures=["T5ForConditionalGeneration"], d_model=80)(folder)


REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "code": (
        both(change(auto_map=BROUGHT, model_type="nosuch"), write("code.py", CODE)),
        "brings code of its own",
    ),
    "code beside a known kind": (
        both(change(auto_map=BROUGHT), write("code.py", CODE)), "brings code of its own",
    ),
    "code for the tokenizer": (
        both(
            write(
                "tokenizer_config.json",
                json.dumps({"auto_map": {"AutoTokenizer": ["code.Model", None]}}).encode(),
            ),
            write("code.py", CODE),
        ),
        "tokenizer_config.json names code.Model",
    ),
    "code for generating": (
        write("generation_config.json", b'{"custom_generate": "code"}'), "brings code of its own",
    ),
    "code deep inside": (
        change(text_config={"auto_map": BROUGHT}), "brings code of its own",
    ),
    "code in a list": (change(parts=[{"auto_map": BROUGHT}]), "brings code of its own"),
    "code for what nobody reads here": (
        both(
            write("processor_config.json", json.dumps({"auto_map": BROUGHT}).encode()),
            write("preprocessor_config.json", b"{,"),
        ),
        "processor_config.json names code.Config",
    ),
    "an activation that nobody knows": (change(hidden_act="nosuch"), "hidden_act = nosuch"),
    "a pickle in capitals": (
        both(remove(WEIGHTS), write("pytorch_model.BIN", PICKLE)), "only as a pickle",
    ),
    "a list of pickles": (
        both(
            write("x.bin", PICKLE),
            write("model.safetensors.index.json", b'{"weight_map": {"a": "x.bin"}}'),
        ),
        r"only as a pickle \(x.bin\)",
    ),
    "a link to elsewhere": (
        both(
            remove("config.json"),
            lambda folder: (folder / "config.json").symlink_to("/etc/passwd"),
        ),
        "config.json is a link to a place outside",
    ),
    "weights by another name": (
        lambda folder: (folder / WEIGHTS).rename(folder / "weights.safetensors") and None,
        "holds weights.safetensors, but neither model.safetensors nor",
    ),
    "numbers that are none": (with_tensor("model.norm.weight", float("nan"), 80), "no numbers"),
    "a bias that the class has not": (
        with_tensor("model.layers.0.self_attn.q_proj.bias", 1.0, 80), "would be left out",
    ),
    "a norm that the class has not": (
        with_tensor("model.layers.1.self_attn.q_norm.weight", 1.0, 20), "would be left out",
    ),
    "packed numbers of a part": (
        change(text_config={"quantization_config": {"quant_method": "gptq"}}), "stored with gptq",
    ),
    "an adapter alone": (
        both(remove("config.json", WEIGHTS), write("adapter_config.json", b"{}")), "an adapter",
    ),
    "GGUF alone": (both(remove("config.json", WEIGHTS), write("m.gguf", b"GGUF")), "a GGUF file"),
    "a pickle only": (
        both(remove(WEIGHTS), write("pytorch_model.bin", PICKLE)),
        r"only as a pickle \(pytorch_model.bin\)",
    ),
    "a pickle of another ending": (
        both(remove(WEIGHTS), write("weights.pth", PICKLE)), "only as a pickle",
    ),
    "a trainer's pickle only": (
        both(remove(WEIGHTS), write("training_args.bin", PICKLE)), "no .safetensors file",
    ),
    "a pickle called safetensors": (write(WEIGHTS, PICKLE), "no whole safetensors file"),
    "narrower": (change(hidden_size=40), "does not describe its numbers: .* shape"),
    "wider": (change(hidden_size=800), "does not describe its numbers: .* shape"),
    "more heads": (change(num_attention_heads=8), "does not describe its numbers"),
    "fewer KV heads": (change(num_key_value_heads=1), "does not describe its numbers"),
    "wider heads": (change(head_dim=40), "does not describe its numbers"),
    "another MLP": (change(intermediate_size=100), "does not describe its numbers"),
    "more words": (change(vocab_size=10_000_000), "does not describe its numbers"),
    "a layer more": (change(num_hidden_layers=3), "is needed and not stored"),
    "a layer less": (change(num_hidden_layers=1), "is stored and would be left out"),
    "biases that are not there": (change(attention_bias=True), "is needed and not stored"),
    "another kind": (
        change(model_type="gpt2", architectures=["GPT2LMHeadModel"]), "for tiny|of tiny|^tiny",
    ),
    "no number": (change(hidden_size="many"), "hidden_size"),
    "layers without end": (change(num_hidden_layers=10**6), "num_hidden_layers"),
    "heads that do not divide": (change(num_key_value_heads=3), "does not describe its numbers"),
    "an unknown kind": (
        change(model_type="nosuch", architectures=["NoSuchModel"]), "no model of the kind NoSuch",
    ),
    "no kind": (change(model_type=None, architectures=None), "no model of the kind"),
    "a pair of models": (t5, "writes another|does not|makes no model"),
    "no tokenizer": (remove(TOKENS), "holds no tokenizer"),
    "half a tokenizer": (cut(TOKENS, 200), "holds no tokenizer"),
    "an empty tokenizer": (write(TOKENS, b"{}"), "holds no tokenizer"),
    "another model's tokenizer": (other_tokens, "gives numbers up to 199"),
    "40 GB": (sparse(WEIGHTS, 40 * 10**9), r"has 40,000,000,000 bytes .* at most 6,442,450,944"),
    "40 GB in shards": (
        both(*(sparse(f"model-{n}.safetensors", 10**10) for n in range(4))), "has 40,000",
    ),
    "a tokenizer of 1 GB": (sparse(TOKENS, 10**9), "tokenizer.json has 1,000,000,000 bytes"),
    "a config of 1 GB": (sparse("config.json", 10**9), "config.json has 1,000,000,000 bytes"),
    "half the weights": (cut(WEIGHTS, 20_000), "no whole safetensors file"),
    "half a header": (cut(WEIGHTS, 100), "no whole safetensors file"),
    "no bytes": (write(WEIGHTS, b""), "no whole safetensors file"),
    "a header without end": (write(WEIGHTS, b"\xff" * 64), "no whole safetensors file"),
    "a header that is no JSON": (
        write(WEIGHTS, (8).to_bytes(8, "little") + b"{nothing"), "no whole safetensors file",
    ),
    "a web page": (write(WEIGHTS, b"<html>Not found</html>" * 20), "no whole safetensors file"),
    "no weights": (remove(WEIGHTS), "no .safetensors file"),
    "a tensor that is empty": (
        write(WEIGHTS, (2).to_bytes(8, "little") + b"{}"), "no .safetensors file",
    ),
    "GGUF": (both(remove(WEIGHTS), write("tiny.gguf", b"GGUF")), r"a GGUF file \(tiny.gguf\)"),
    "a shard from elsewhere": (
        write(
            "model.safetensors.index.json",
            json.dumps({"weight_map": {"a": "../../other.safetensors"}}).encode(),
        ),
        r"lists the file '../../other.safetensors'",
    ),
    "packed numbers": (
        change(quantization_config={"quant_method": "bitsandbytes"}), "stored with bitsandbytes",
    ),
    "an adapter": (
        write("adapter_config.json", b'{"base_model_name_or_path": "gpt2"}'), "holds an adapter",
    ),
    "no config": (remove("config.json"), "holds no config.json"),
    "a config that is no JSON": (write("config.json", b"{,}"), "config.json cannot be read"),
    "a config that is a list": (write("config.json", b"[1]"), "config.json cannot be read"),
}  # fmt: skip
# Refused without asking transformers for anything: by the files alone.
BY_FILES = {
    "code", "code beside a known kind", "code for the tokenizer", "a pickle only", "40 GB",
    "half the weights", "no tokenizer", "no config", "GGUF", "a shard from elsewhere",
}  # fmt: skip


FOUND_LATE = {
    "a layer more", "biases that are not there", "another kind", "numbers that are none",
    "a bias that the class has not", "a norm that the class has not",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_folder_is_refused_in_a_sentence(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import PreTrainedModel

    loaded: list[str] = []
    load = PreTrainedModel.from_pretrained.__func__

    def listen(kind: Any, *given: Any, **options: Any) -> Any:
        loaded.append(kind.__name__)
        return load(kind, *given, **options)

    monkeypatch.setattr(PreTrainedModel, "from_pretrained", classmethod(listen))
    spoil, sentence = REFUSED[name]
    spoil(folder)
    with pytest.raises(DataError, match=sentence) as caught:
        load_model("tiny", root=folder.parent)
    assert not RUN.exists()
    # Only what config.json needs and no file holds is found when the files are read.
    assert not loaded or name in FOUND_LATE
    assert str(folder.parent) not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", sorted(BY_FILES))
def test_the_list_says_why_a_folder_cannot_be_chosen(name: str, folder: Path) -> None:
    spoil, sentence = REFUSED[name]
    spoil(folder)
    (card,) = list_models(folder.parent)
    assert card.name == "tiny"
    assert isinstance(card.problem, DataError)
    with pytest.raises(DataError, match=sentence):
        raise card.problem


def test_the_limit_is_the_environments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SIZE_VARIABLE, "0.0001")
    with pytest.raises(DataError, match="at most 107,374 are loaded here"):
        load_model("tiny", root=folder.parent)
    monkeypatch.setenv(SIZE_VARIABLE, "nonsense")
    assert card_of(folder).problem is None


def test_a_whole_folder_is_loaded(folder: Path) -> None:
    """Nothing above is refused for what is right in it."""
    assert load_model("tiny", root=folder.parent).n_layers == 2


def test_a_whole_model_in_shards_is_loaded(tmp_path: Path) -> None:
    folder = save_folder(tmp_path / "shards", Family("llama", "llama", LLAMA.settings))
    from transformers import AutoModelForCausalLM

    from mha_core.sizes.quiet import one_at_a_time

    with one_at_a_time():
        model = AutoModelForCausalLM.from_pretrained(folder)
        (folder / WEIGHTS).unlink()
        model.save_pretrained(folder, max_shard_size="50KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    assert load_model(folder).n_layers == 2
