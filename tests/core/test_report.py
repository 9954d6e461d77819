"""Figures kept with the weights: those of these weights, those the cards print, or none."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from mha_core import evaluate as command
from mha_core.errors import DataError
from mha_core.heads import measures
from mha_core.heads.card import fill_card
from mha_core.heads.circuit_report import CIRCUITS, task_bench
from mha_core.heads.circuits import as_json, find_circuit
from mha_core.heads.curves import Curves
from mha_core.heads.evaluate import evaluate
from mha_core.heads.prompts import CIRCUIT_TASKS
from mha_core.heads.report import (
    SHIPPED,
    count_figures,
    find_differences,
    name_head,
    read_report,
    write_report,
)
from mha_core.model.checkpoint import WEIGHTS, list_checkpoints, load_model, load_toy_model
from mha_core.model.toy import ToyModel
from tests.core.test_circuits import last

# On another machine rounding may turn one pair in a hundred round, or a mean in the third place.
ROUNDING = 0.0101


@pytest.fixture(scope="module")
def model() -> ToyModel:
    """The shipped model."""
    return load_toy_model()


def test_what_is_shipped_is_what_is_measured(model: ToyModel) -> None:
    shipped, measured = read_report(model), evaluate(model)
    differences = find_differences(shipped, measured)
    assert max(differences.values(), default=0.0) <= ROUNDING, differences
    assert count_figures(shipped) > 1000
    assert all(shipped["passed"].values()) == all(measured["passed"].values())


def test_the_circuits_that_ship_are_those_that_are_found(model: ToyModel) -> None:
    shipped = read_report(model, CIRCUITS)
    assert tuple(shipped) == CIRCUIT_TASKS
    for task in ("copying", "measure"):
        prompts = task_bench(model, task)
        found = as_json(last(find_circuit(prompts)))
        differences = find_differences(shipped[task], found)
        assert max(differences.values(), default=0.0) <= ROUNDING, differences
        assert len(found["paths"]) > 90


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_cards_print_what_is_shipped(model: ToyModel, lang: Any) -> None:
    card = command.CARDS[lang].read_text("utf-8")
    curves = Curves.read(WEIGHTS / "scores.json")
    assert card == fill_card(card, read_report(model), curves, lang)
    for role in read_report(model)["roles"].values():
        assert f"| {name_head(role['head'])} | {role['mass']['mean']:.2f} [" in card


def test_figures_of_other_weights_are_refused(model: ToyModel, tmp_path: Path) -> None:
    early = load_model(list_checkpoints()[0])
    with pytest.raises(DataError, match="was measured on the weights") as refused:
        read_report(early)
    assert early.metadata["sha256"] in str(refused.value)
    write_report(early, read_report(model), tmp_path / "report.json")
    assert read_report(early, tmp_path / "report.json") == read_report(model)
    with pytest.raises(DataError, match="was measured on the weights"):
        read_report(model, tmp_path / "report.json")


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", "{}", '{"format": 1, "weights": "", "report": {}}', "null"]
)
def test_a_file_that_is_no_report_is_refused(
    model: ToyModel, tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "report.json"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(DataError, match="holds no measured figures"):
        read_report(model, path)


def test_a_model_without_a_file_has_no_place_for_figures(model: ToyModel, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not read from a weights file"):
        write_report(ToyModel(model.sizes, seed=1), {}, tmp_path / "report.json")


def test_differences_are_found_wherever_they_are(model: ToyModel) -> None:
    shipped = read_report(model)
    assert find_differences(shipped, shipped) == {}
    other = copy.deepcopy(shipped)
    other["heads"]["1.3"]["entropy"]["low"] += 0.25
    other["roles"]["sink"]["head"] = [0, 0]
    del other["tasks"]["reference"]
    found = find_differences(shipped, other)
    assert found["heads.1.3.entropy.low"] == pytest.approx(0.25)
    assert found["roles.sink.head.0"] == math.inf
    assert found["tasks.reference.mean"] == math.inf
    assert set(found) == set(find_differences(other, shipped))


def test_a_changed_definition_is_noticed(model: ToyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    from mha_core.heads.evaluate import measure_heads

    def counts_every_row(self: object) -> Any:
        return self.keep.any(axis=-1)  # type: ignore[attr-defined]

    monkeypatch.setattr(measures.Seen, "has_choice", property(counts_every_row))
    differences = find_differences({"heads": read_report(model)["heads"]},
                                   {"heads": measure_heads(model)})  # fmt: skip
    assert max(differences.values()) > 10 * ROUNDING


def test_a_card_must_have_a_place_for_each_part(model: ToyModel) -> None:
    card = command.CARDS["en"].read_text("utf-8")
    curves = Curves.read(WEIGHTS / "scores.json")
    for harm in (
        card.replace("<!-- measured: copying -->", ""),
        card + "\n<!-- measured: roles -->\n\n<!-- end -->\n",
        card.replace("measured: roles", "measured: rolls"),
    ):
        with pytest.raises(DataError, match="The model card has places for"):
            fill_card(harm, read_report(model), curves)


@pytest.mark.parametrize("option", ["--write", "--check"])
def test_only_the_shipped_weights_figures_are_written(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = SHIPPED.read_bytes()
    for arguments in ([option, "--count", "3"], [str(list_checkpoints()[0]), option]):
        with pytest.raises(SystemExit, match="2"):
            command.main(arguments)
        assert "the full count" in capsys.readouterr().err
    assert SHIPPED.read_bytes() == before


def test_the_command_writes_what_it_measured_and_checks_it(
    model: ToyModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shipped = read_report(model)
    for lang, path in command.CARDS.items():
        copied = tmp_path / path.name
        copied.write_text(path.read_text("utf-8").replace("0.9", "0.1"), "utf-8")
        monkeypatch.setitem(command.CARDS, lang, copied)
    monkeypatch.setattr(command, "SHIPPED", tmp_path / "report.json")
    monkeypatch.setattr(command, "CIRCUITS", tmp_path / "circuits.json")
    circuits = read_report(model, CIRCUITS)
    monkeypatch.setattr(command, "measure_circuits", lambda model: circuits)
    monkeypatch.setattr(command, "evaluate", lambda model, count, full: shipped)
    command.main(["--write"])
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["report"] == shipped
    assert read_report(model, tmp_path / "circuits.json") == circuits
    for path in command.CARDS.values():
        original = Path(command.DOCS / path.name).read_text("utf-8")
        marked = "<!-- measured: roles -->"
        assert (
            path.read_text("utf-8").partition(marked)[2].partition("<!-- end -->")[0]
            == (original.partition(marked)[2].partition("<!-- end -->")[0])
        )
    with pytest.raises(SystemExit, match="0"):
        command.main(["--check"])
    moved = copy.deepcopy(shipped)
    moved["tasks"]["reference"]["mean"] = 0.5
    monkeypatch.setattr(command, "evaluate", lambda model, count, full: moved)
    with pytest.raises(SystemExit, match="1"):
        command.main(["--check"])
