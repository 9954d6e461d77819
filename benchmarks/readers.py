"""Readers of an app as its server sees them: a websocket each, time to think, then the next page.

They speak Streamlit's own protocol, as a browser does, and take everything that is sent; nothing
is drawn.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from mha_view.scene import pack_text

PAGES = ("projection", "heads", "rope", "attention", "concat", "output", "gallery")
TEXTS = (
    "The cat sat on the mat because it was tired.",
    "她把书给了小明,因为他喜欢看书。",
    "The dogs near the tree see the king.",
    "小狗追小猫,因为它很饿。",
    "The queen saw the boy when she opened the door.",
)
PLAIN = ("",)  # the plain app has one page, and reads the sentence as it is
THINK_SECONDS = (0.2, 1.2)
PATIENCE = 300.0


@dataclass
class Answers:
    """What readers were answered.

    Attributes:
        seconds: from a wish to the end of its answer.
        bytes: of each answer.
        errors: what went wrong.
    """

    seconds: list[float] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Milliseconds that so large a share of the answers stayed below."""
        ordered = sorted(self.seconds) or [float("nan")]
        return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def report(self) -> dict[str, float | int]:
        """The figures of a table's row."""
        return {
            "answers": len(self.seconds),
            "p50_ms": round(self.percentile(0.5), 1),
            "p95_ms": round(self.percentile(0.95), 1),
            "kb": round(statistics.median(self.bytes or [0]) / 1e3),
            "errors": len(self.errors),
        }


async def ask(socket: ClientConnection, address: str, page: str, wish: dict[str, str]) -> int:
    """Ask for a page and take its answer; returns the bytes that came.

    Raises:
        RuntimeError: the page showed an exception.
    """
    message = BackMsg()
    message.rerun_script.query_string = urlencode(wish)
    message.rerun_script.page_name = page
    message.rerun_script.context_info.timezone = "UTC"
    message.rerun_script.context_info.locale = "en-GB"
    message.rerun_script.context_info.url = f"{address}/{page}"
    await socket.send(message.SerializeToString())
    taken = 0
    while True:
        raw = await asyncio.wait_for(socket.recv(), PATIENCE)
        assert isinstance(raw, bytes)
        taken += len(raw)
        forward = ForwardMsg.FromString(raw)
        kind = forward.WhichOneof("type")
        if kind == "delta" and forward.delta.new_element.WhichOneof("type") == "exception":
            raise RuntimeError(f"{page}: {forward.delta.new_element.exception.message[:80]}")
        if kind == "script_finished" and forward.script_finished in (0, 1, 3):
            return taken


def join(address: str) -> connect:
    """A reader's websocket."""
    return connect(
        address.replace("http", "ws", 1) + "/_stcore/stream",
        subprotocols=["streamlit"],  # type: ignore[list-item]
        origin=address,  # type: ignore[arg-type]
        max_size=None,
        open_timeout=PATIENCE,
    )


async def read(
    address: str, number: int, answers: Answers, *, n_answers: int, pages: Sequence[str]
) -> None:
    """One reader: so many wishes, with time to think between them."""
    draw = random.Random(number)
    try:
        async with join(address) as socket:
            for turn in range(n_answers):
                text = draw.choice(TEXTS) + " " * draw.randrange(3)
                wish = {
                    **({"text": text} if pages == PLAIN else {"v": "1", "t": pack_text(text)}),
                    "lang": draw.choice(("en", "zh")),
                    "layer": str(draw.randrange(3)),
                    "head": str(draw.randrange(6)),
                }
                page = pages[(number + turn // 3) % len(pages)]
                await asyncio.sleep(draw.uniform(*THINK_SECONDS))
                began = time.perf_counter()
                answers.bytes.append(await ask(socket, address, page, wish))
                answers.seconds.append(time.perf_counter() - began)
    except Exception as failure:
        answers.errors.append(f"reader {number}: {type(failure).__name__} {failure}"[:120])


async def press(address: str, stop: asyncio.Event) -> int:
    """One reader who wants heavy work without end: the largest sizes, new numbers each time."""
    done = 0
    text = " ".join(TEXTS * 40)
    async with join(address) as socket:
        while not stop.is_set():
            done += 1
            wish = {"v": "1", "t": pack_text(text), "weights": "article", "seed": str(done)}
            await ask(socket, address, "attention", wish)
    return done


async def crowd(
    address: str,
    n_readers: int,
    *,
    n_answers: int = 12,
    pages: Sequence[str] = PAGES,
    heavy: bool = False,
) -> Answers:
    """So many readers at once; with `heavy`, one more who keeps the server at heavy work."""
    answers, stop = Answers(), asyncio.Event()
    pressing = asyncio.create_task(press(address, stop)) if heavy else None
    readers = (
        read(address, number, answers, n_answers=n_answers, pages=pages)
        for number in range(n_readers)
    )
    await asyncio.gather(*readers)
    stop.set()
    if pressing is not None:
        pressing.cancel()
    return answers
