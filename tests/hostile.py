"""What somebody sends who means harm, by the hundred and the same each time: seeded, not random.

A script that runs anywhere shows itself: it sets `window.ran`, or opens a dialog.
"""

from __future__ import annotations

import base64
import json
import pickle
import random
import zlib
from typing import Any

RUN = "window.ran=1"
SCRIPTS = (
    f"<script>{RUN}</script>",
    f'"><script>{RUN}</script>',
    f"'><svg/onload={RUN}>",
    f"<img src=x onerror={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<a href=javascript:{RUN}>here</a>",
    f"[here](javascript:{RUN})",
    f'![x](x"onerror="{RUN})',
    f"</style><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<math><mtext></form><form><mglyph><style></math><img src onerror={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<body onload={RUN}>",
    f"<x style=animation-name:x onanimationstart={RUN}>",
    f"$\\href{{javascript:{RUN}}}{{x}}$",
    f"`<script>{RUN}</script>`",
    f":material/{RUN}: :red[<script>{RUN}</script>]",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#60;script&#62;{RUN}&#60;/script&#62;",
    f"%3Cscript%3E{RUN}%3C/script%3E",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"<b>bold</b> <!-- {RUN} --> <![CDATA[{RUN}]]>",
)
FORMULAS = (
    "=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", '=HYPERLINK("x")',
    '"=1+1"', ",=1+1", "\n=1+1",
)  # fmt: skip
STRANGE = (
    "\u202eevil\u202c", "\u2066\u2067\u2068\u2069", "\u200b\u200c\u200d\ufeff", "a\u0300" * 40,
    "\x00", "\x01\x02\x03\x7f", "\x1b[31mred\x1b[0m", "\ud7ff\ue000\ufffd", "\U0010ffff",
    "👩‍👩‍👧‍👦" * 20, "🏳️‍🌈🇨🇳", "𝕿𝖍𝖊", "ﷺ" * 30, "İıſß", "\u2028\u2029", "\r\n\r\n", "\v\f",
    "{0.__class__}", "{lang}", "%s%n%d", "${jndi:ldap://x}", "{{7*7}}", "../../etc/passwd",
    "';DROP TABLE x;--", "NaN", "Infinity", "-0", "1e999", "null", "undefined", "__proto__",
    "constructor", "🙂" * 50, "我" * 200, "a" * 500, " " * 300, "\t" * 50, "<bos>", "0xFF", "…",
)  # fmt: skip


def texts(seed: int = 0, count: int = 120) -> list[str]:
    """Sentences: each of the listed ones alone, then mixtures of them."""
    draw = random.Random(seed)
    pool = (*SCRIPTS, *FORMULAS, *STRANGE)
    made = list(pool)
    while len(made) < count:
        parts = draw.choices((*pool, "The cat sat.", "猫坐下了。"), k=draw.randrange(2, 6))
        made.append(draw.choice(("", " ", "\n")).join(parts))
    return made[:count]


def links(names: list[str], seed: int = 1, count: int = 200) -> list[dict[str, str]]:
    """Query strings: known names with values that are not theirs, and unknown names."""
    draw = random.Random(seed)
    values = [
        "", "-1", "1e9", "99999999999999999999", "NaN", "٣", "０", "1.5", "true", "0x10", "1_0",
        "\x00", "a" * 3_000, *SCRIPTS, *STRANGE,
        _bomb(), base64.urlsafe_b64encode(b"no zlib").decode(), "====", "\udc80",
        base64.urlsafe_b64encode(zlib.compress(b"\xff\xfe\xfd")).decode(),
    ]  # fmt: skip
    made = []
    for _ in range(count):
        chosen = draw.choices([*names, "v", "s", "t", "t2", "c", "", *SCRIPTS, *STRANGE], k=4)
        made.append({name: draw.choice(values) for name in chosen})
    return made


def _bomb() -> str:
    """A few bytes that unpack to twenty megabytes."""
    return base64.urlsafe_b64encode(zlib.compress(b"a" * 20_000_000, 9)).decode()


def configs(seed: int = 2, count: int = 120) -> list[bytes]:
    """Uploaded files that call themselves a config."""
    draw = random.Random(seed)

    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return exec, ("import os; os.environ['RAN'] = '1'",)

    made: list[bytes] = [
        b"", b"\x00" * 1_000, b"[" * 100_000, b'{"a":' * 50_000, b"nan", b"NaN", b"-Infinity",
        b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b"PK\x03\x04" + b"\x00" * 100, b"GGUF\x03\x00",
        pickle.dumps(Bomb()), b"\x93NUMPY\x01\x00v\x00", b"<html>", b"null", b"true", b'"text"',
        b'{"hidden_size": 1e999}', b'{"hidden_size": NaN, "num_attention_heads": 12}',
        b'{"model_type": "' + b"a" * 100_000 + b'"}', b'{"a": ' + b"9" * 10_000 + b"}",
        b'{"\\ud800": 1}', b'{"model_type": "llama", "auto_map": {"AutoConfig": "x.py--Evil"}}',
        b"{'python': True}", b'{"a": 1, "a": 2}', json.dumps({"model_type": SCRIPTS[0]}).encode(),
    ]  # fmt: skip
    keys = (
        "hidden_size", "num_attention_heads", "num_hidden_layers", "num_key_value_heads",
        "head_dim", "model_type", "architectures", "vocab_size", "intermediate_size",
        "rope_scaling",
        "layer_types", "sliding_window", "text_config", "torch_dtype", "quantization_config",
    )  # fmt: skip
    odd: list[Any] = [
        None, -1, 0, 1.5, 2**63, 10**40, "12", "twelve", [], {}, [[]], {"a": {"b": 1}}, True, "",
        SCRIPTS[1], STRANGE[0], ["llama"] * 2_000, float("nan"), float("inf"), "__class__",
    ]  # fmt: skip
    while len(made) < count:
        model = draw.choice(["llama", "gpt2", "bert", "t5", "qwen2", "mixtral", "no-such", "os"])
        config: dict[str, Any] = {
            "model_type": model, "hidden_size": 64, "num_attention_heads": 4,
            "num_hidden_layers": 2, "vocab_size": 100, "intermediate_size": 128,
        }  # fmt: skip
        for name in draw.choices(keys, k=draw.randrange(1, 4)):
            config[name] = draw.choice(odd)
        made.append(json.dumps(config).encode())
    return made[:count]


def messages(seed: int = 3, count: int = 120) -> list[Any]:
    """What a forged page says in a component's name."""
    draw = random.Random(seed)
    odd: list[Any] = [
        None, -1, 10**9, 10**30, 1.5, float("nan"), "0", "", [], {}, True, False, SCRIPTS[0],
        "../../x", {"__class__": "x"}, ["a"] * 1_000, "overview", "no-such-page", "\x00",
    ]  # fmt: skip
    names = ("figure", "head", "row", "column", "token", "step", "page", "turn", "wanted", "frame")
    made: list[Any] = list(odd)
    while len(made) < count:
        made.append({name: draw.choice(odd) for name in draw.sample(names, 6)})
    return made
