"""A reader without a browser: asks a running server for a page as a browser's script would."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from google.protobuf.message import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

LONGEST_SECONDS = 120


@dataclass(frozen=True)
class Sent:
    """What the server sent for one page.

    Attributes:
        kinds: the kind of every element, in order.
        texts: every string of every element.
        finished: whether the script came to its end.
    """

    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    finished: bool


def ask_page(address: str, page: str, query: str = "") -> Sent:
    """Open a session, ask for one page, and read until its script is done.

    Args:
        address: `http://host:port`.
        page: its name in the address bar.
        query: the query string.
    """
    return asyncio.run(_ask(address.replace("http", "ws", 1), page, query))


async def _ask(address: str, page: str, query: str) -> Sent:
    """Talk Streamlit's own protocol."""
    asked = BackMsg()
    asked.rerun_script.page_name = page
    asked.rerun_script.query_string = query
    kinds: list[str] = []
    texts: list[str] = []
    async with connect(
        f"{address}/_stcore/stream", subprotocols=["streamlit"], max_size=None
    ) as socket:
        await socket.send(asked.SerializeToString())
        while True:
            told = ForwardMsg()
            told.ParseFromString(await asyncio.wait_for(socket.recv(), LONGEST_SECONDS))
            kind = told.WhichOneof("type")
            if kind == "delta" and told.delta.HasField("new_element"):
                element = told.delta.new_element
                kinds.append(str(element.WhichOneof("type")))
                texts += _strings(element)
            elif kind == "script_finished":
                done = ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY
                return Sent(tuple(kinds), tuple(texts), told.script_finished == done)


def _strings(message: Message) -> list[str]:
    """Every string of a message, however deep."""
    found: list[str] = []
    for _, value in message.ListFields():
        held = [value] if isinstance(value, (str, Message)) else value
        if isinstance(held, (list, tuple)) or hasattr(held, "__iter__"):
            for each in held:
                if isinstance(each, str):
                    found.append(each)
                elif isinstance(each, Message):
                    found += _strings(each)
    return found
