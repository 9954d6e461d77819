"""Accessibility findings of a page, by axe-core."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SEVERE = {"serious", "critical"}


def severe_findings(page: Page, within: str | None = None) -> list[str]:
    """Return axe's serious and critical findings, each with the elements it is about.

    Args:
        page: the page.
        within: a selector of the part that is looked at; all of the page unless given.
    """
    results = Axe().run(page, context=within).response
    return [
        f"{finding['id']} ({finding['impact']}): {finding['help']}: "
        + "; ".join(_describe(node) for node in finding["nodes"][:3])
        for finding in results["violations"]
        if finding["impact"] in SEVERE
    ]


def _describe(node: dict[str, Any]) -> str:
    """What an element is, and what axe measured there."""
    measured = [check["data"] for check in node["any"] if check.get("data")]
    return f"{str(node['html'])[:160]} {measured}"
