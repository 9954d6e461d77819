"""The command `twelve-heads`: serve the app from where it is installed."""

from __future__ import annotations

import argparse
import locale
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from mha_core.errors import ConfigError
from mha_view import limits
from mha_view.home import HOME
from mha_view.words import LANG_VARIABLE, LANGS, Words

PORT = 8501


class _UnreadableError(Exception):
    """The command line is not one of ours."""


class _Parser(argparse.ArgumentParser):
    """Reads the command line; what to say about a bad one is left to the caller's language."""

    def error(self, message: str) -> NoReturn:
        raise _UnreadableError(message)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the app until it is stopped.

    Args:
        arguments: the command line; the process's own unless given.

    Raises:
        SystemExit: 0 after `--help`, 2 after a command line that cannot be followed, with one
            message in the reader's language.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    words = Words(reader_language(given))
    parser = _Parser(prog="twelve-heads", add_help=False, allow_abbrev=False)
    parser.add_argument("--port", default=str(PORT))
    parser.add_argument("--lang", default="")
    parser.add_argument("--show-limits", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    try:
        options = parser.parse_args(given)
    except _UnreadableError:
        _refuse(words("command.unreadable", given=" ".join(given), help=words("command.help")))
    if options.help:
        print(words("command.help"))
        return
    if options.show_limits:
        try:
            print(limits.list_limits())
        except ConfigError as error:
            _refuse(words.error(error))
        return
    if options.lang not in ("", *LANGS):
        _refuse(words("command.lang", given=options.lang))
    port = read_port(options.port)
    if port is None:
        _refuse(words("command.port", given=options.port))
    if is_taken(port):
        _refuse(words("command.taken", port=port, other=port + 1 if port < 65535 else PORT))
    if options.lang:
        os.environ[LANG_VARIABLE] = options.lang
    print(words("command.serving", port=port), flush=True)
    serve(port)


def reader_language(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """The language to answer a command line in: the one it asks for, else the machine's.

    >>> reader_language(["--lang", "zh"], {}), reader_language([], {"LANG": "zh_CN.UTF-8"})
    ('zh', 'zh')
    >>> reader_language(["--lang=zh"], {"LANG": "en_GB.UTF-8"}), reader_language([], {"LANG": "C"})
    ('zh', 'en')
    """
    for place, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name == "--lang":
            value = value or "".join(arguments[place + 1 : place + 2])
            if value in LANGS:
                return value
    names = (LANG_VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG")
    told = next((environment[name] for name in names if environment.get(name)), "")
    machine = told or locale.getlocale()[0] or ""
    return "zh" if machine.lower().startswith(("zh", "chinese")) else "en"


def read_port(text: str) -> int | None:
    """The port a text names, or None.

    >>> read_port("8501"), read_port("0"), read_port("65536"), read_port("８５"), read_port("-1")
    (8501, None, None, None, None)
    """
    if not text.isascii() or not text.isdecimal() or len(text) > 5:
        return None
    return int(text) if 1 <= int(text) <= 65_535 else None


def is_taken(port: int) -> bool:
    """Whether another program listens there already."""
    with socket.socket() as asked:
        asked.settimeout(1.0)
        return asked.connect_ex(("127.0.0.1", port)) == 0


def serve(port: int) -> None:
    """Hand over to Streamlit's own server; the app's settings lie beside `app.py`."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from streamlit.web import cli

    cli.main(["run", str(HOME / "app.py"), "--server.port", str(port)], prog_name="streamlit")


def _refuse(message: str) -> NoReturn:
    """Stop with a message."""
    print(message, file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    main()
