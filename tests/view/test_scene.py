"""A link restores the scene, whatever is in it, and a bad link harms nothing."""

import base64
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_core.model.checkpoint import load_toy_model
from mha_core.sizes import list_bundled
from mha_view.link import link_of, refuse_missing
from mha_view.scene import (
    CODECS,
    FIELD_OF,
    FOREIGN,
    LIVE_HEADS,
    LIVE_LAYERS,
    LIVE_STEPS,
    LIVE_WIDTHS,
    LONGEST_LINK,
    MOST_SAID,
    READY_BY_NAME,
    TEXT_FIELDS,
    Ablation,
    Against,
    Axes,
    CircuitName,
    CircuitPart,
    ColourScale,
    FloatType,
    Instead,
    Lang,
    MaskName,
    Pairing,
    Picked,
    RoleName,
    RouteName,
    Scene,
    SizesPart,
    Sorting,
    Tab,
    TaskName,
    View,
    WeightsName,
    WeightType,
    link_holds_text,
    read_link,
    write_link,
)
from mha_view.texts import DEFAULT_TEXT, TEXTS

places = st.integers(0, 1000)
BUNDLED = [config.name for config in list_bundled()]
drawings = st.binary(min_size=128, max_size=128).map(
    lambda bits: base64.urlsafe_b64encode(bits).decode().rstrip("=")
)
scenes = st.builds(
    Scene,
    lang=st.sampled_from(get_args(Lang)),
    text=st.one_of(st.text(max_size=60), st.sampled_from(sorted(TEXTS.values()))),
    weights=st.sampled_from(get_args(WeightsName)),
    real=st.sampled_from(["", "SmolLM2-135M-Instruct", "模型 一"]),
    digest=st.sampled_from(["", "0123456789abcdef"]),
    layer=st.integers(0, 99),
    head=st.integers(0, 127),
    focus=st.one_of(st.none(), st.integers(-1, 100_000)),
    mask=st.sampled_from(get_args(MaskName)),
    window=st.integers(1, 1024),
    prefix=st.integers(0, 1024),
    sinks=st.integers(0, 64),
    rope=st.booleans(),
    shift=st.integers(0, 4096),
    pairing=st.sampled_from(get_args(Pairing)),
    d_model=st.integers(1, 1024),
    n_heads=st.integers(1, 64),
    n_kv_heads=st.integers(0, 64),
    d_head=st.integers(0, 256),
    base=st.integers(1, 10_000_000),
    seed=st.integers(0, 2**31 - 1),
    live_d=st.sampled_from(LIVE_WIDTHS),
    live_h=st.sampled_from(LIVE_HEADS),
    live_layers=st.sampled_from(LIVE_LAYERS),
    live_seed=st.integers(0, 2**31 - 1),
    live_steps=st.integers(0, LIVE_STEPS),
    axes=st.sampled_from(get_args(Axes)),
    scale=st.sampled_from(get_args(ColourScale)),
    present=st.booleans(),
    route=st.sampled_from(get_args(RouteName)),
    own_route=st.text(max_size=20),
    station=st.integers(0, 99),
    sort=st.sampled_from(get_args(Sorting)),
    only=st.integers(-1, 99),
    view=st.sampled_from(get_args(View)),
    hide_special=st.booleans(),
    whole_words=st.booleans(),
    tab=st.sampled_from(get_args(Tab)),
    role=st.sampled_from(get_args(RoleName)),
    own=st.booleans(),
    by_score=st.booleans(),
    task=st.sampled_from(get_args(TaskName)),
    off=st.sets(st.tuples(st.integers(0, 2), st.integers(0, 5))).map(
        lambda pairs: (*sorted(pairs),)
    ),
    ablation=st.sampled_from(get_args(Ablation)),
    other_real=st.sampled_from(["", "small-llama", "模型 1"]),
    edge_query=st.integers(-1, 1023),
    edge_key=st.integers(-1, 1023),
    after=st.integers(-1, 100_000),
    token=st.integers(-1, 100_000),
    circuit=st.sampled_from(get_args(CircuitName)),
    circuit_part=st.sampled_from(get_args(CircuitPart)),
    instead=st.sampled_from(get_args(Instead)),
    cuts=st.sets(st.integers(1, 5)).map(lambda cuts: (*sorted(cuts),)),
    twin=st.text(max_size=60),
    says=st.text(max_size=12),
    marked=st.one_of(st.text(max_size=12), st.sampled_from(sorted(READY_BY_NAME.values()))),
    among=st.sets(st.tuples(st.integers(0, 2), st.integers(0, 5))).map(
        lambda pairs: (*sorted(pairs),)
    ),
    claim_count=st.integers(10, 500),
    claim_seed=st.integers(0, 10_000),
    frozen=st.booleans(),
    step=st.integers(0, 10_000_000),
    against=st.sampled_from(get_args(Against)),
    other_text=st.one_of(st.text(max_size=60), st.sampled_from(sorted(TEXTS.values()))),
    other_layer=st.integers(0, 99),
    other_head=st.integers(-1, 127),
    other_mask=st.sampled_from(get_args(MaskName)),
    other_weights=st.sampled_from(get_args(WeightsName)),
    other_step=st.integers(0, 10_000_000),
    model=st.sampled_from([*BUNDLED, "file", "hand"]),
    config_text=st.text(max_size=60),
    part=st.sampled_from(["", "text_config", "thinker_config.audio_config"]),
    sizes_part=st.sampled_from(get_args(SizesPart)),
    others=st.lists(st.sampled_from(BUNDLED), max_size=5, unique=True).map(tuple),
    cost_tokens=st.integers(1, 1 << 20),
    float_type=st.sampled_from(get_args(FloatType)),
    batch=st.integers(1, 4096),
    weight_type=st.sampled_from(get_args(WeightType)),
    memory=st.integers(1, 100_000),
    hand_d=st.integers(1, 1 << 16),
    hand_h=st.integers(1, 1024),
    hand_kv=st.integers(0, 1024),
    hand_d_head=st.integers(0, 4096),
    hand_layers=st.integers(1, 1000),
    shared=st.integers(0, 64),
    digit=st.integers(0, 359),
    drawn=st.booleans(),
    drawing=st.one_of(st.just(""), drawings),
    patch=st.integers(0, 15),
    said=st.lists(st.integers(0, 2**18), max_size=MOST_SAID).map(tuple),
    look=st.integers(-1, MOST_SAID),
    temperature=st.integers(0, 300),
    top_k=st.integers(0, 1000),
    top_p=st.integers(1, 100),
    draw=st.integers(0, 2**31 - 1),
    play=st.integers(0, 8),
    exercise=st.integers(0, 5),
    exercise_seed=st.integers(0, 999_999),
    picked=st.one_of(
        st.none(),
        st.builds(Picked, st.sampled_from(["pattern", "out", "q_full"]), places, places, places),
    ),
)


@given(scenes)
def test_a_link_restores_the_scene(scene: Scene) -> None:
    again, refused = read_link(write_link(scene))
    assert refused == []
    assert again == scene


@given(scenes)
def test_a_link_opens_in_the_other_language(scene: Scene) -> None:
    other = "zh" if scene.lang == "en" else "en"
    again, refused = read_link({**write_link(scene), "lang": other})
    assert refused == []
    assert again == scene.with_(lang=other)


@given(scenes)
def test_links_are_ascii_and_short(scene: Scene) -> None:
    link = write_link(scene)
    assert all(part.isascii() for pair in link.items() for part in pair)
    assert sum(len(name) + len(value) + 2 for name, value in link.items()) <= LONGEST_LINK


NAMES = [
    *(codec.name for codec in CODECS.values()),
    "s",
    "t",
    "s2",
    "t2",
    "c",
    "v",
    "says",
    "m",
    "ready",
    "zzz",
]


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=20)))
def test_nonsense_in_a_link_gives_defaults_and_is_reported(link: dict[str, str]) -> None:
    scene, refused = read_link(link)
    assert isinstance(scene, Scene)
    good, none_refused = read_link(write_link(scene))
    assert good == scene
    assert none_refused == []
    if "zzz" in link:
        assert any(name.startswith("zzz=") for name in refused)


@pytest.mark.parametrize(
    ("name", "value"),
    [("h", "0"), ("h", "65"), ("h", "4.5"), ("h", "٤"), ("mask", "MASK"), ("rope", "yes"),
     ("s", "no"), ("t", "%%%"), ("t", "eJw="), ("cell", "pattern.1.2"), ("cell", "<b>.1.2.3"),
     ("v", "99"), ("lang", "fr"), ("model", "gpt5"), ("with", "hand"), ("ink", "AAAA"),
     ("part", "a..b"), ("S", "0"), ("live_d", "4096"), ("live_h", "3"), ("live_n", "40"),
     ("live_steps", "301"), ("focus", "-2"), ("focus", "it"), ("said", "4f.x"), ("said", "1" * 7),
     ("said", ""), ("heat", "301"), ("real", "..%2Fx"), ("real", "a%2Fb"),
     ("real", "%ff"), ("digest", "xyz"), ("topp", "0"), ("look", "49")],
)  # fmt: skip
def test_each_bad_value_is_named(name: str, value: str) -> None:
    scene, refused = read_link({name: value})
    assert refused == [f"{name}={value}"]
    assert scene == Scene()


def test_a_text_too_long_stays_out_of_the_link() -> None:
    noise = "".join(chr(0x4E00 + (place * 7919) % 20_000) for place in range(3000))
    scene = Scene(text=noise)
    assert not link_holds_text(scene)
    assert "t" not in write_link(scene)


def test_a_link_carries_so_many_new_tokens() -> None:
    most = (7,) * MOST_SAID
    assert read_link({"said": write_link(Scene(said=most))["said"]})[0].said == most
    assert len(read_link({"said": ".".join("1" * (MOST_SAID + 1))})[1]) == 1
    assert Scene(said=most, look=3).turn_to(text="A dog.") == Scene(text="A dog.")
    assert Scene(said=most).turn_to(weights="article").said == ()
    assert Scene(said=most).turn_to(head=2).said == most


def test_a_link_cannot_unpack_into_a_flood() -> None:
    from mha_view.scene import pack_text

    flood = pack_text("a" * 3_000_000)
    assert len(flood) < 8000
    _, refused = read_link({"t": flood})
    assert len(refused) == 1


def test_a_language_alone_brings_its_own_sentence() -> None:
    assert read_link({"lang": "zh"})[0].text == DEFAULT_TEXT["zh"]
    assert read_link({"lang": "en"})[0].text == DEFAULT_TEXT["en"]
    assert read_link({"lang": "zh", "s": "cat"})[0].head == Scene().head
    assert read_link({"lang": "zh", "s": "cat"})[0].focus is None


@pytest.mark.parametrize(
    ("lang", "pronoun", "antecedent"), [("en", "it", "cat"), ("zh", "他", "小明")]
)
def test_the_first_head_finds_what_the_pronoun_stands_for(
    lang: str, pronoun: str, antecedent: str
) -> None:
    scene, _ = read_link({"lang": lang})
    trace = load_toy_model().trace(scene.text)
    row = trace.layers[scene.layer].pattern[scene.head, trace.tokens.index(pronoun)]
    assert trace.tokens[row.argmax()] == antecedent


OTHERS = ["utm_source", "utm_campaign", "fbclid", "gclid", "msclkid", "mc_eid", "_gl", "spm",
          "from", "isappinstalled", "share_token", "vd_source", "embed", "ref"]  # fmt: skip


def test_what_others_hang_on_a_link_is_dropped_quietly() -> None:
    scene, refused = read_link({**dict.fromkeys(OTHERS, "x"), "head": "3"})
    assert refused == []
    assert scene == Scene(head=3)
    own = {*FIELD_OF, *TEXT_FIELDS, "v"}
    assert not [name for name in own if FOREIGN.fullmatch(name)], "none of the app's own"
    assert read_link({"xhead": "1"})[1] == ["xhead=1"]


def test_every_part_of_a_model_has_a_link() -> None:
    from mha_core.sizes import measure

    inner = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    nested = {"model_type": "x", "thinker_config": {"text_config": inner, "audio_config": inner}}
    keys = set(measure(nested, totals=False).entries)
    keys |= {"thinker_config.text_config", "a.b.c"}
    for key in keys:
        scene = Scene(model="file", part=key)
        assert read_link(write_link(scene)) == (scene, [])


@given(st.sampled_from(["a", "猫", "😀"]), st.integers(1, 200_000))
@settings(max_examples=20)
def test_a_text_is_written_only_where_it_can_be_read(letter: str, count: int) -> None:
    scene = Scene(text=letter * count, config_text=letter * count)
    again, refused = read_link(write_link(scene))
    assert refused == []
    assert again.text in (scene.text, Scene().text)
    assert again.config_text in (scene.config_text, "")


@given(scenes)
@settings(max_examples=60)
def test_what_the_app_writes_exists(scene: Scene) -> None:
    link = link_of(scene)
    read, refused = read_link(link)
    assert refused == []
    assert refuse_missing(read, link) == (read, [])


@pytest.mark.parametrize(
    ("link", "refused"),
    [
        ({"layer": "3"}, ["layer=3"]),
        ({"layer": "2"}, []),
        ({"head": "6"}, ["head=6"]),
        ({"head": "6", "weights": "article"}, []),
        ({"head": "12", "layer": "1", "weights": "article"}, ["layer=1", "head=12"]),
        ({"head": "4", "weights": "custom", "h": "4"}, ["head=4"]),
        ({"head": "6", "weights": "custom", "h": "6", "d": "47"}, ["head=6"]),
        ({"head": "3", "weights": "live", "live_h": "4"}, []),
        ({"head": "4", "weights": "live", "live_h": "4"}, ["head=4"]),
        ({"head2": "9", "layer2": "5"}, ["layer2=5", "head2=9"]),
        ({"off": "0.1_2.6"}, ["off=0.1_2.6"]),
        ({"cell": "pattern.50.0.0"}, ["cell=pattern.50.0.0"]),
    ],
)
def test_a_layer_or_head_that_does_not_exist_is_named(
    link: dict[str, str], refused: list[str]
) -> None:
    read, bad = read_link(link)
    assert bad == []
    scene, missing = refuse_missing(read, link)
    assert sorted(missing) == sorted(refused)
    assert link_of(scene) == write_link(scene), "what stands in for it exists"
