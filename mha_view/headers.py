"""What every answer of the server tells a browser: load from here alone, guess nothing.

What the policy for content cannot be, and why: Streamlit and Plotly set styles on elements, so
styles stay `unsafe-inline`; Streamlit starts a component's script from a `blob:`, so scripts may
come from one; Plotly draws heatmaps as `data:` images and saves a picture by way of a `blob:`.
Scripts written into the page are refused, but for the one line of Streamlit's own page, named by
its digest.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FRAME_HOSTS = "TWELVE_HEADS_FRAME_HOSTS"
INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
HOST = re.compile(r"(https?://)?[A-Za-z0-9*.-]+(:\d+)?")


def frame_hosts(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The hosts whose pages may show this app in a frame; none unless the owner lists them.

    >>> frame_hosts({"TWELVE_HEADS_FRAME_HOSTS": "https://school.example, a.example; script-src *"})
    ['https://school.example']
    """
    listed = environment.get(FRAME_HOSTS, "").split(",")
    return [host.strip() for host in listed if HOST.fullmatch(host.strip())]


@cache
def inline_digests() -> tuple[str, ...]:
    """The digests of the scripts that Streamlit's own page holds."""
    spec = find_spec("streamlit")
    assert spec is not None
    assert spec.origin is not None
    page = (Path(spec.origin).parent / "static" / "index.html").read_bytes()
    digests = (hashlib.sha256(script).digest() for script in INLINE.findall(page))
    return tuple(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def content_policy(hosts: list[str]) -> str:
    """The content security policy as one line."""
    rules = {
        "default-src": "'self'",
        "script-src": " ".join(("'self'", "blob:", *inline_digests())),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self' data: blob:",
        "worker-src": "'self' blob:",
        "media-src": "'self'",
        "frame-src": "'self'",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": " ".join(("'self'", *hosts)),
    }
    return "; ".join(f"{name} {sources}" for name, sources in rules.items())


def security_headers(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Every header that is added to each answer."""
    hosts = frame_hosts(environment)
    headers = {
        "Content-Security-Policy": content_policy(hosts),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    if not hosts:  # an old browser's word for it, which knows no list of hosts
        headers["X-Frame-Options"] = "SAMEORIGIN"
    return headers


class SecurityHeaders:
    """Adds the headers to each answer of an ASGI app."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = security_headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what it is answered gets the headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, content in self.headers.items():
                    headers[name] = content
            await send(message)

        await self.app(scope, receive, send_with_headers)
