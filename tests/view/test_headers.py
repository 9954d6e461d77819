"""The headers of every answer: strict, and open to frames only where the owner says so."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from mha_view.headers import SecurityHeaders, content_policy, frame_hosts, security_headers


def client() -> TestClient:
    async def say(request: Request) -> PlainTextResponse:
        return PlainTextResponse("here", headers={"Referrer-Policy": "unsafe-url"})

    async def fail(request: Request) -> PlainTextResponse:
        raise RuntimeError("a secret path")

    app = Starlette(routes=[Route("/", say), Route("/fail", fail)])
    return TestClient(SecurityHeaders(app), raise_server_exceptions=False)


@pytest.mark.parametrize("path", ["/", "/nowhere", "/fail"])
def test_every_answer_has_them_once(path: str) -> None:
    answer = client().get(path)
    for name, content in security_headers().items():
        assert answer.headers.get_list(name) == [content]
    assert "secret" not in answer.text
    assert "starlette" not in answer.text.lower()


def test_no_script_written_into_the_page_may_run() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in content_policy([]).split(";"))
    scripts = rules["script-src"].split()
    assert "'unsafe-inline'" not in scripts
    assert "'unsafe-eval'" not in scripts
    assert not any(source.startswith("http") or source == "*" for source in scripts)
    assert any(source.startswith("'sha256-") for source in scripts)
    assert rules["object-src"] == "'none'"


@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        ("", []),
        ("https://school.example", ["https://school.example"]),
        ("a.example, https://b.example:8080", ["a.example", "https://b.example:8080"]),
        ("*.example", ["*.example"]),
        ("a.example; script-src *", []),
        ("a b", []),
        ("'unsafe-inline'", []),
        ("https://a.example/\r\nX-Evil: 1", []),
    ],
)
def test_only_hosts_come_into_the_policy(given: str, hosts: list[str]) -> None:
    environment = {"TWELVE_HEADS_FRAME_HOSTS": given}
    assert frame_hosts(environment) == hosts
    headers = security_headers(environment)
    ancestors = headers["Content-Security-Policy"].rsplit("; ", 1)[1]
    assert ancestors == " ".join(["frame-ancestors 'self'", *hosts])
    assert ("X-Frame-Options" in headers) is (not hosts)


def test_a_websocket_is_left_alone() -> None:
    seen = []

    async def inner(scope: object, receive: object, send: object) -> None:
        seen.append((scope, receive, send))

    given = ({"type": "websocket"}, object(), object())
    asyncio.run(SecurityHeaders(inner)(*given))  # type: ignore[arg-type]
    assert seen == [given]
