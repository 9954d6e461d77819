"""Find a Chromium for the browser tests, and with `--install` get one.

python -m tests.browser.find_browser            # print where it is
python -m tests.browser.find_browser --install  # make sure there is one, Chinese letters, a proxy
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NO_BROWSER = (
    "No Chromium was found: not in $CHROMIUM, not as one of {names}, not Playwright's own. "
    "Install one (`python -m tests.browser.find_browser --install` tries), or set CHROMIUM."
)


def find_browser() -> str | None:
    """Return the path of a Chromium: $CHROMIUM, the system's, or Playwright's own."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if Path(named).exists() else None
    return next(filter(None, map(shutil.which, NAMES)), None) or _find_playwrights()


def _find_playwrights() -> str | None:
    """Return Playwright's own Chromium, if it has been downloaded."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def find_proxy() -> str | None:
    """Return the path of HAProxy, which stands before several processes."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")


def install() -> None:
    """Get what is missing: Playwright's Chromium, else Debian's; a font with Chinese; HAProxy."""
    if find_browser() is None:
        _run(sys.executable, "-m", "playwright", "install", "chromium")
    if find_browser() is None and _can_use_apt():
        _run("apt-get", "update")
        _run("apt-get", "install", "-y", "--no-install-recommends", "chromium")
    if not _has_chinese_font() and _can_use_apt():
        _run("apt-get", "install", "-y", "--no-install-recommends", "fonts-noto-cjk")
    if find_proxy() is None and _can_use_apt():
        _run("apt-get", "update")
        _run("apt-get", "install", "-y", "--no-install-recommends", "haproxy")


def _has_chinese_font() -> bool:
    if not shutil.which("fc-list"):
        return False
    found = subprocess.run(["fc-list", ":lang=zh"], capture_output=True, text=True, check=False)
    return bool(found.stdout.strip())


def _can_use_apt() -> bool:
    return bool(shutil.which("apt-get")) and hasattr(os, "geteuid") and os.geteuid() == 0


def _run(*command: str) -> None:
    """Run a command; when it fails, the search that follows says what is missing."""
    print("+", " ".join(command), flush=True)
    subprocess.run(command, check=False)


def main() -> None:
    """Print where the browser is; exit with 1 and say what to do if there is none."""
    if "--install" in sys.argv[1:]:
        install()
    path = find_browser()
    if path is None:
        sys.exit(NO_BROWSER.format(names=", ".join(NAMES)))
    print(path)


if __name__ == "__main__":
    main()
