"""The heads page's exercises: which rows of Q belong to which head."""

from __future__ import annotations

from mha_core.config import AttentionConfig
from mha_core.exercises.exercise import Cell, Exercise, Matrix, Miss, Number, Part
from mha_core.exercises.tiny import Rng, array, pick, tensor, whole
from mha_core.layer import split_heads


def place(rng: Rng, seed: int) -> Exercise:
    """The row of Q that a feature of a head is."""
    h, d_head = pick(rng, 3, 4, 6, 8), pick(rng, 4, 8, 16)
    head, feature = int(rng.integers(1, h)), int(rng.integers(0, d_head))
    return Exercise(
        "heads.place",
        seed,
        Number(head * d_head + feature),
        (
            Miss("heads_interleaved", feature * h + head),
            Miss("head_from_one", (head - 1) * d_head + feature),
            Miss("bands_of_h", head * h + feature),
        ),
        values={"h": h, "d_head": d_head, "head": head, "feature": feature},
        hint={"start": f"{head} × {d_head}"},
    )


def band(rng: Rng, seed: int) -> Exercise:
    """A head's own matrix, cut from Q."""
    q, head = whole(rng, 4, 3, most=9), pick(rng, 0, 1)
    heads = array(split_heads(tensor(q.T), 2).mT)
    return Exercise(
        "heads.band",
        seed,
        Matrix(Part(f"Q_{head}", heads[head], ("feature_of_head", "token"))),
        (
            Miss("other_head", heads[1 - head]),
            Miss("every_other_row", q[head::2].copy()),
            # `view(h, S, d_head)` of [token, feature], without the transpose after it.
            Miss("cut_in_memory", q.T.reshape(2, 3, 2)[head].T.copy()),
        ),
        (Part("Q", q, ("feature", "token")),),
        values={"head": head, "h": 2},
        hint={"d_head": "4 ÷ 2"},
    )


def point(rng: Rng, seed: int) -> Exercise:
    """One feature of one head, in Q as a whole."""
    h, d_head = (3, 2) if rng.random() < 0.5 else (2, 3)
    head, feature = int(rng.integers(1, h)), int(rng.integers(0, d_head))
    token = int(rng.integers(0, 4))
    return Exercise(
        "heads.point",
        seed,
        Cell((0, head * d_head + feature, token)),
        (
            Miss("heads_interleaved", (0, feature * h + head, token)),
            Miss("head_from_one", (0, (head - 1) * d_head + feature, token)),
            Miss("token_in_rows", (0, token, head * d_head + feature)),
        )
        if head * d_head + feature < 4
        else (
            Miss("heads_interleaved", (0, feature * h + head, token)),
            Miss("head_from_one", (0, (head - 1) * d_head + feature, token)),
        ),
        (Part("Q", whole(rng, 6, 4, most=9), ("feature", "token")),),
        values={"h": h, "d_head": d_head, "head": head, "feature": feature, "token": token},
    )


def shared(rng: Rng, seed: int) -> Exercise:
    """Which KV head a query head reads."""
    h_kv = pick(rng, 2, 3, 4, 6, 8)
    h = h_kv * pick(rng, 2, 3, 4)
    config = AttentionConfig(d_model=h * 4, n_heads=h, n_kv_heads=h_kv)
    head = int(rng.integers(1, h))
    return Exercise(
        "heads.shared",
        seed,
        Number(head // config.group),
        (
            Miss("dealt_out", head % h_kv),
            Miss("divided_by_kv", head // h_kv),
            Miss("own_keys", head),
        ),
        values={"h": h, "h_kv": h_kv, "head": head},
        hint={"group": f"{h} ÷ {h_kv}"},
    )


MAKERS = {"place": place, "band": band, "point": point, "shared": shared}
