"""What the core says of a config is told in one language: words inside a note are notes too."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mha_core.errors import MESSAGES, ConfigError, DataError, Note, TwelveHeadsError
from mha_core.masks import check_reach
from mha_core.sizes import Sizes, build, measure, measure_file, read_text
from mha_view.words import Words, catalogue

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "tests" / "data" / "configs"
ZH, EN = Words("zh"), Words("en")
# A word by itself: no part of a path (model.layers), of a key (model_type) or of code (f(x)).
WORD = re.compile(r"(?<![\w.])[a-z]{2,}(?!\w|\.\w|[(=])")
# Words of the messages that are also names: of settings, of keys of a report, of makers.
NAMES = {"norm", "mask", "true", "shapes", "parameters", "mistral", "falcon"}


def words_of(text: str) -> set[str]:
    return set(WORD.findall(text))


def english_words() -> set[str]:
    """Words of the English messages that no Chinese text uses: those it uses are names."""
    chinese = set().union(*map(words_of, catalogue("zh").values()))
    small = (re.sub(r"\b[A-Z](?=[a-z])", lambda at: at[0].lower(), m) for m in MESSAGES.values())
    return set().union(*map(words_of, small)) - chinese - NAMES


ENGLISH = english_words()


def assert_chinese(message: TwelveHeadsError | Note) -> None:
    """What is told is Chinese but for names, and what another program is quoted with."""
    told = re.sub("“[^”]*”", "", ZH.error(message))
    assert re.search(r"[\u4e00-\u9fff]", told)
    assert words_of(told) & ENGLISH == set(), told
    assert EN.error(message) == str(message)


def notes_of(sizes: Sizes) -> Iterator[Note]:
    """Everything said about a model and its parts."""
    yield from sizes.notes
    if sizes.parameters.source:
        yield sizes.parameters.source
    for part in sizes.entries.values():
        yield from notes_of(part)


def test_the_words_looked_for_are_english_and_no_names() -> None:
    assert {"the", "many", "none", "left", "encoder", "could", "list"} <= ENGLISH
    assert {"null", "transformers", "bias", "softmax"} & ENGLISH == set()


# --- The source: no message is given English to name ----------------------------------------

RAISED = {"Note", "ConfigError", "ShapeError", "DataError", "DeviceError", "TwelveHeadsError"}


def literals(node: ast.AST, assigned: dict[str, list[ast.expr]]) -> Iterator[str]:
    """Strings that an expression may put into a text; a note's own and keys are left out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.Call):
        called = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
        if called in RAISED | {"get"}:
            return
    if isinstance(node, ast.Name):
        for value in assigned.get(node.id, []):
            yield from literals(value, {})
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Subscript) and child is node.slice):
            yield from literals(child, assigned)


def named_in_messages(path: Path) -> Iterator[str]:
    """Strings written in a file that become values of its messages."""
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        assigned: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned.setdefault(node.targets[0].id, []).append(node.value)
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in RAISED:
                for keyword in node.keywords:
                    yield from literals(keyword.value, assigned)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "mha_core").rglob("*.py")), ids=lambda path: path.stem
)
def test_no_message_names_a_literal_in_english(path: Path) -> None:
    named = set(named_in_messages(path))
    assert {text for text in named if words_of(text) & ENGLISH} == set()


# --- Told: what a note names is told with it ------------------------------------------------


@pytest.mark.parametrize("key", sorted(MESSAGES))
def test_a_note_in_any_message_is_told_in_chinese(key: str) -> None:
    inner = Note("sizes.reason.window_empty")
    message = DataError(key, **dict.fromkeys(re.findall(r"\{(\w+)", MESSAGES[key]), inner))
    assert_chinese(message)
    printed = len(re.findall(r"\{\w+\}", catalogue("zh")[f"error.{key}"]))
    assert ZH.error(message).count(ZH.error(inner)) >= printed
    assert "{{" not in ZH.error(message)


@pytest.mark.parametrize("text", ["[1]", '"a"', "true", "3", "2.5", "null"])
def test_a_file_that_is_no_object_is_named_in_chinese(text: str) -> None:
    with pytest.raises(DataError, match="The file holds a JSON") as caught:
        read_text(text)
    assert_chinese(caught.value)


def test_the_side_of_a_window_is_named_in_chinese() -> None:
    for reach in ((-1, None), (None, -2)):
        with pytest.raises(ConfigError, match="A window cannot reach") as caught:
            check_reach(*reach)
        assert_chinese(caught.value)


PLAIN: dict[str, Any] = {
    "model_type": "mistral", "architectures": ["MistralForCausalLM"], "hidden_size": 24,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 11,
    "intermediate_size": 14, "tie_word_embeddings": False, "sliding_window": 5,
}  # fmt: skip
# What is changed, whether the model is built, and the word or reason that must then be told.
CHANGES = [
    ({"vocab_size": None}, False, "sizes.reason.no_sizes"),
    ({"tie_word_embeddings": None}, False, "sizes.reason.tie_unstated"),
    ({"model_type": None}, False, "sizes.word.none"),
    ({"model_type": "abc", "architectures": ["Abc"]}, True, "sizes.note.unknown"),
    ({"rope_scaling": {"factor": 2.0}}, False, "sizes.word.by_layer_type"),
    ({"num_key_value_heads": None}, True, "sizes.word.as_queries"),
    (
        {"num_key_value_heads": None, "model_type": "llama", "architectures": ["LlamaModel"],
         "sliding_window": None},
        True, "sizes.word.built",
    ),
    (
        {"model_type": "gemma2", "head_dim": 6, "architectures": ["Gemma2Model"]},
        True, "sizes.list",
    ),
    ({"use_sliding_window": False}, True, "sizes.reason.window_off"),
    ({"sliding_window": 0}, True, "sizes.reason.window_empty"),
    ({"rope_theta": "warm"}, True, "sizes.reason.refused"),
    ({"intermediate_size": [3]}, True, "sizes.reason.key"),
    ({"architectures": ["Two"], "num_key_value_heads": None}, True, "sizes.note.foreign_class"),
    ({"architectures": None, "auto_map": {"AutoConfig": "a.Own"}}, True, "sizes.note.foreign_code"),
    ({"auto_map": {"AutoConfig": "a.Own"}}, True, "sizes.note.code_beside"),
    ({"model_type": "llama", "sliding_window": None}, True, "sizes.note.class_wins"),
    ({"architectures": ["FlaxMistralModel"]}, True, "sizes.note.read_as_class"),
    ({"attention_head_type": "multiquery"}, True, "sizes.note.unread_attention"),
    ({"num_experts": 4}, True, "sizes.note.unread_total"),
    ({"num_nextn_predict_layers": 1}, True, "sizes.note.ahead"),
    ({"num_experts": 4}, False, "sizes.note.stands_back"),
    ({"hidden_act": "wavy"}, True, "sizes.note.activation"),
    ({"vocab_size": -1}, True, "sizes.note.no_vocabulary"),
    ({"model_type": "abc", "architectures": ["Abc"]}, True, "sizes.reason.windows"),
    (
        {"model_type": "abc", "architectures": ["AbcEncoder"], "sliding_window": None},
        True, "sizes.reason.maybe_encoder",
    ),
    ({"model_type": "abc", "architectures": ["Abc"], "kv_lora_rank": 3}, True,
     "sizes.note.not_plain"),
]  # fmt: skip


def every_note(sizes: Sizes) -> Iterator[Note]:
    """Its notes, and the notes they name."""
    for note in notes_of(sizes):
        yield note
        yield from (value for value in note.values.values() if isinstance(value, Note))


@pytest.mark.parametrize(("change", "totals", "key"), CHANGES, ids=str)
def test_notes_on_a_config_are_in_chinese(change: dict[str, Any], totals: bool, key: str) -> None:
    sizes = measure(PLAIN | change, totals=totals)
    assert key in {note.key for note in every_note(sizes)}
    for note in notes_of(sizes):
        assert_chinese(note)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("deepseek-vl2-tiny", "sizes.reason.parts_only"),
        ("gemma3-4b-it-sophgo", "sizes.reason.part_headless"),
        ("mpt-7b", "sizes.reason.part_unbuilt"),
        ("deepseek-v4-flash", "sizes.reason.compressed"),
        ("flan-t5-ipex", "sizes.note.two_sides"),
    ],
)
def test_notes_on_real_configs_are_in_chinese(name: str, key: str) -> None:
    sizes = measure_file(CONFIGS / f"{name}.json")
    assert key in {note.key for note in every_note(sizes)}
    for note in notes_of(sizes):
        assert_chinese(note)


def test_a_composite_without_a_headless_class_is_told_in_chinese() -> None:
    text = {key: PLAIN[key] for key in PLAIN if key not in ("model_type", "architectures")}
    sizes = measure({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": text}})
    keys = {note.key for note in every_note(sizes)}
    assert {"sizes.reason.no_headless", "sizes.note.absent_part"} <= keys
    for note in notes_of(sizes):
        assert_chinese(note)


def test_notes_in_closed_form_are_in_chinese() -> None:
    told = set()
    for path in sorted(CONFIGS.glob("*.json")):
        try:
            told |= set(notes_of(measure_file(path, totals=False)))
        except DataError as error:
            assert_chinese(error)
    assert len(told) > 100
    for note in told:
        assert_chinese(note)


@pytest.mark.parametrize("limit", [{"tensors": 10}, {"seconds": 0.0}])
def test_a_limit_on_building_is_told_in_chinese(limit: dict[str, Any]) -> None:
    import torch

    with build.budget(**limit), pytest.raises(build.BudgetError, match="more than") as caught:
        torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(50)))
    assert_chinese(caught.value.note)
