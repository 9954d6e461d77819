"""What came of a hypothesis: the verdict, the heads, the sentences it fails on, the edge cut."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from mha_core.heads.claim import Claim, Outcome, Progress, examine_parts
from mha_core.heads.marks import Marked
from mha_view import compute, live, real_walk
from mha_view.explore.passport import Line, draw_lines, passport
from mha_view.explore.stated import Stated, about_claim
from mha_view.figures.claims import head_scores, sentence_masses
from mha_view.heavy import wait_for
from mha_view.link import link_of
from mha_view.menu import page_file
from mha_view.real import SHELF
from mha_view.scene import Picked
from mha_view.show import show
from mha_view.table_files import draw_save, draw_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mha_core.heads.sample import Interval
    from mha_view.words import Words

SHOWN = 6  # failing sentences at first
MOST_TESTED = 20


def outcome_of(stated: Stated, claim: Claim) -> Outcome:
    """The test's outcome, waited for in line with progress and a way to stop; the last one is kept
    with the session."""
    words, model = stated.words, stated.model
    kept = live.find(stated.scene)
    if stated.scene.weights == "real":
        weights = f"{stated.scene.real} {SHELF.digest_of(stated.scene.real)}"
    else:
        weights = compute.load_weights().metadata["sha256"] if kept is None else kept.name
    key = (claim.digest, weights)
    last: tuple[Any, Outcome] | None = st.session_state.get("claim_outcome")
    if last is None or last[0] != key:

        def make() -> Iterator[Progress | Outcome]:
            yield (yield from examine_parts(model, claim))

        def tell(progress: Progress | Outcome) -> tuple[float, str]:
            if isinstance(progress, Outcome):
                return 1.0, words("claim.part.cut")
            return progress.share, words(f"claim.part.{progress.part}")

        found = wait_for(words, "claim", key, make, tell)
        if not isinstance(found, Outcome):  # it was left before its end
            st.stop()
        last = st.session_state["claim_outcome"] = (key, found)
        _note(claim, found)
    return last[1]


def _note(claim: Claim, outcome: Outcome) -> None:
    """Keep count of what this session has tested."""
    tested: dict[str, tuple[str, str]] = st.session_state.setdefault("claims_tested", {})
    tested[claim.digest] = (claim.says, outcome.verdict)
    for digest in list(tested)[:-MOST_TESTED]:
        del tested[digest]


def draw_verdict(stated: Stated, outcome: Outcome) -> None:
    """One sentence: does it hold, for which head, by how much."""
    words, found = stated.words, outcome.finding
    told = words(
        f"claim.verdict.{outcome.verdict}", head=stated.name(outcome.chosen),
        mass=f"{found.mass.mean:.2f}", low=f"{found.mass.low:.2f}", high=f"{found.mass.high:.2f}",
        chance=f"{outcome.chance:.2f}", anywhere=f"{found.anywhere:.2f}",
        shuffled=f"{found.shuffled:.2f}", p=_p(found.p), heads=len(outcome.findings),
        n=len(outcome.sentences),
    )  # fmt: skip
    box = {"holds": st.success, "weak": st.info, "place": st.warning, "no": st.error}
    box[outcome.verdict](told)
    if outcome.verdict != "no" and outcome.ground == "fixed":
        st.caption(words("claim.fixed"))


def _p(value: float) -> str:
    """A p as it is printed."""
    return f"{value:.4f}" if value < 0.01 else f"{value:.2f}"


def draw_heads(stated: Stated, outcome: Outcome) -> None:
    """Every head looked at, as a picture and as a table."""
    words = stated.words
    names = [stated.name(found.head) for found in outcome.findings]
    show(head_scores(outcome, names, words), words, about=about_claim(stated))
    st.caption(words("claim.heads.caption", n=len(outcome.sentences), heads=len(names)))
    with st.expander(words("claim.heads.table")):
        order = sorted(outcome.findings, key=lambda found: -found.mass.mean)
        lines = [
            Line(
                stated.name(found.head), found.mass.mean, "share", found.anywhere,
                found.mass.low, found.mass.high,
                note=words(
                    "claim.note.called" if found.is_called else "claim.note", p=_p(found.p),
                    argmax=f"{found.argmax.mean:.2f}", low=f"{found.argmax.low:.2f}",
                    high=f"{found.argmax.high:.2f}", shuffled=f"{found.shuffled:.2f}",
                ),
            )
            for found in order
        ]  # fmt: skip
        markup = passport(lines, words, words("claim.table.caption"))
        draw_table("claim_findings", markup, heads_table(outcome), words, stated.scene)


def heads_table(outcome: Outcome) -> dict[str, list[Any]]:
    """Every head's figures, a column each."""
    findings = outcome.findings
    return {
        "layer": [found.head[0] for found in findings],
        "head": [found.head[1] for found in findings],
        "mass": [found.mass.mean for found in findings],
        "mass_low": [found.mass.low for found in findings],
        "mass_high": [found.mass.high for found in findings],
        "argmax": [found.argmax.mean for found in findings],
        "argmax_low": [found.argmax.low for found in findings],
        "argmax_high": [found.argmax.high for found in findings],
        "even": [outcome.chance] * len(findings),
        "anywhere": [found.anywhere for found in findings],
        "shuffled": [found.shuffled for found in findings],
        "p": [found.p for found in findings],
        "first_p": [found.first_p for found in findings],
        "called": [found.is_called for found in findings],
    }


def sentences_table(outcome: Outcome) -> dict[str, list[Any]]:
    """Every sentence of the half that reports, a line each."""
    sentences = outcome.sentences
    return {
        "sentence": [one.text for one in sentences],
        "line": [one.line for one in sentences],
        "query": [one.labels[one.query] for one in sentences],
        "targets": [" ".join(one.labels[place] for place in one.targets) for one in sentences],
        "looked": [
            one.labels[int(place)] for one, place in zip(sentences, outcome.looked, strict=True)
        ],
        "mass": [float(mass) for mass in outcome.masses],
        "hit": [
            int(place) in one.targets for one, place in zip(sentences, outcome.looked, strict=True)
        ],
    }


def draw_spread(stated: Stated, outcome: Outcome) -> None:
    """How the chosen head's weight is spread over the sentences."""
    words = stated.words
    st.markdown(f"##### {words('claim.spread', head=stated.name(outcome.chosen))}")
    show(sentence_masses(outcome, words), words, about=about_claim(stated))
    found = outcome.finding.argmax
    st.caption(
        words(
            "claim.argmax", share=f"{found.mean:.0%}", low=f"{found.low:.0%}",
            high=f"{found.high:.0%}", n=found.n,
        )
    )  # fmt: skip


def draw_cut(stated: Stated, outcome: Outcome) -> None:
    """What the edge carries, against two control edges."""
    words, cut = stated.words, outcome.cut
    st.markdown(f"##### {words('claim.cut')}")
    found = {"edge": cut.edge, "other_key": cut.other_key, "other_head": cut.other_head}
    lines = [_interval_line(words(f"claim.cut.{name}"), value) for name, value in found.items()]
    draw_lines(
        "claim_cut", lines, words, stated.scene, rows=list(found),
        caption=words("claim.cut.caption", head=stated.name(outcome.chosen)),
    )  # fmt: skip
    if cut.more is not None:
        st.markdown(
            words(
                "claim.cut.more" if cut.matters else "claim.cut.same", more=f"{cut.more.mean:+.2f}",
                low=f"{cut.more.low:+.2f}", high=f"{cut.more.high:+.2f}",
            ).replace("-", "−")
        )  # fmt: skip


def _interval_line(label: str, found: Interval | None) -> Line:
    """A line of a passport, empty where nothing was measured."""
    if found is None:
        return Line(label, float("nan"), "share")
    return Line(label, found.mean, "share", low=found.low, high=found.high)


def draw_failing(stated: Stated, outcome: Outcome) -> None:
    """The sentences whose largest key is no target, each opening on the attention page."""
    words, failing = stated.words, outcome.failing
    st.markdown(f"##### {words('claim.failing', n=len(failing), all=len(outcome.sentences))}")
    draw_save("claim_sentences", sentences_table(outcome), words, stated.scene)
    if not failing:
        st.caption(words("claim.failing.none"))
        return
    st.caption(words("claim.failing.caption", head=stated.name(outcome.chosen)))
    most = len(failing) if st.session_state.get("claim_every_failing") else SHOWN
    for place in failing[:most]:
        one, looked = outcome.sentences[place], int(outcome.looked[place])
        with st.container(horizontal=True, vertical_alignment="center", key=f"failing_{place}"):
            st.html(_sentence(one, looked, float(outcome.masses[place]), words), width="stretch")
            st.page_link(
                page_file("attention"), label=words("claim.open"),
                query_params=_link_of(stated, outcome, one, looked),
            )  # fmt: skip
    if len(failing) > SHOWN:
        st.toggle(words("claim.failing.all", n=len(failing)), key="claim_every_failing")


def _sentence(one: Marked, looked: int, mass: float, words: Words) -> str:
    """A sentence's tokens: who looks, at whom it should look, at whom it does."""
    kinds = {looked: "looked", one.query: "query"} | dict.fromkeys(one.targets, "target")
    shown = "".join(
        f'<span class="{kinds.get(place, "")}">{escape(label)}</span>'
        for place, label in enumerate(one.labels)
        if place
    )
    told = escape(words("claim.failing.mass", mass=f"{mass:.2f}"))
    return f'<p class="claimed">{shown} <small>{told}</small></p>'


def _link_of(stated: Stated, outcome: Outcome, one: Marked, looked: int) -> dict[str, str]:
    """The scene of a sentence on the attention page as it was read here: the chosen head, the
    query's row."""
    layer, head = outcome.chosen
    scene = stated.scene
    # A start that a model's tokenizer does not put there by itself is not on the other pages.
    added = 1 - real_walk.n_before(scene.real) if scene.weights == "real" else 0
    return link_of(
        scene.with_(
            text=one.text, layer=layer, head=head, focus=one.query - 1,
            picked=Picked("pattern", head, one.query - added, looked - added), mask="causal",
            rope=True, shift=0,
            weights=scene.weights if compute.is_trained(scene) else "toy",
        )
    )  # fmt: skip


def draw_tested(stated: Stated) -> None:
    """What this session has tested so far: the more one tries, the more one finds by chance."""
    words = stated.words
    tested: dict[str, tuple[str, str]] = st.session_state.get("claims_tested", {})
    if len(tested) < 2:
        return
    with st.expander(words("claim.tested", n=len(tested))):
        st.caption(words("claim.tested.caption"))
        rows = "".join(
            f"<tr><td><code>{digest[:8]}</code></td><td>{escape(says)}</td>"
            f"<td>{escape(words(f'claim.short.{verdict}'))}</td></tr>"
            for digest, (says, verdict) in tested.items()
        )
        table = {
            "digest": list(tested),
            "says": [says for says, _ in tested.values()],
            "verdict": [verdict for _, verdict in tested.values()],
        }
        markup = f'<table class="passport plain"><tbody>{rows}</tbody></table>'
        draw_table("claims_tested", markup, table, words, stated.scene)
