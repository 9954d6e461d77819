"""Where the app's own files lie: beside the packages in the source, in a folder of a wheel."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).parents[1]
_INSTALLED = _ROOT / "twelve_heads"
# Holds app.py, pages/ and .streamlit/.
HOME = _INSTALLED if (_INSTALLED / "app.py").is_file() else _ROOT
