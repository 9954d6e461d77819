"""The files a browser needs besides Streamlit's own: plotly.min.js and our components.

Each address carries a version (Plotly's, or a digest of our files), so a browser may keep what
it has for a year and still never shows an old file after an upgrade. Nothing here imports
Plotly: its folder is found without running it.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
from functools import cache
from importlib.metadata import version
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

BROWSER_DIR = Path(__file__).parent / "components" / "browser"
MEDIA_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
ONE_YEAR = "public, max-age=31536000, immutable"


def plotly_script() -> Path:
    """Return where the installed `plotly` package keeps plotly.min.js.

    Raises:
        FileNotFoundError: if no `plotly` package is installed.
    """
    spec = importlib.util.find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the plotly package is not installed")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


@cache
def components_version() -> str:
    """Return a short digest of every component file: it changes when one of them does."""
    digest = hashlib.sha256()
    for path in sorted(BROWSER_DIR.glob("*.*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def plotly_version() -> str:
    """Return the version of the installed `plotly` package."""
    return version("plotly")


def base_path() -> str:
    """Return the path the app is served under, "" or "/some/path"."""
    from streamlit import config

    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""


def plotly_address() -> str:
    """Return the address path of plotly.min.js in this app."""
    return f"{base_path()}/assets/plotly-{plotly_version()}/plotly.min.js"


def components_address() -> str:
    """Return the address path of the folder with our component files in this app."""
    return f"{base_path()}/assets/components-{components_version()}"


def routes() -> list[BaseRoute]:
    """Return the routes for `st.App(routes=…)`.

    They match under any leading path, so they need not know `server.baseUrlPath`, which is
    not settled yet when the app is built.
    """
    return [
        Route("/{base:path}assets/plotly-{version}/plotly.min.js", _send_plotly),
        Route("/{base:path}assets/components-{version}/{name}", _send_component),
    ]


async def _send_plotly(request: Request) -> Response:
    return await run_in_threadpool(_answer, request, plotly_script())


async def _send_component(request: Request) -> Response:
    path = BROWSER_DIR / request.path_params["name"]
    if path.suffix not in MEDIA_TYPES or path not in BROWSER_DIR.iterdir():
        return Response(status_code=404)
    return await run_in_threadpool(_answer, request, path)


def _answer(request: Request, path: Path) -> Response:
    """Send a file compressed where the browser takes it, or say that it has not changed."""
    plain, packed, tag = _load(path, path.stat().st_mtime_ns)
    headers = {"Cache-Control": ONE_YEAR, "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    # Named even when the file goes out as it is: the app's own gzip layer then leaves it alone.
    takes_gzip = "gzip" in request.headers.get("accept-encoding", "")
    headers["Content-Encoding"] = "gzip" if takes_gzip else "identity"
    body = packed if takes_gzip else plain
    return Response(body, headers=headers, media_type=MEDIA_TYPES[path.suffix])


@cache
def _load(path: Path, modified: int) -> tuple[bytes, bytes, str]:
    """Read and compress a file once, not at every request; `modified` renews it in time."""
    plain = path.read_bytes()
    return plain, gzip.compress(plain, 6, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:16]}"'


def warm() -> None:
    """Compress plotly.min.js now (about 0.3 s), so that the first visitor need not wait."""
    path = plotly_script()
    _load(path, path.stat().st_mtime_ns)
