"""The web app's entry: `streamlit run app.py`.

The main script lives in `mha_view/`, so that the `pages/` folder beside this file is only what
`st.navigation` says it is, on the very first request too. A wheel keeps this file, `pages/` and
`.streamlit/` in a folder of their own, so the main script is found by its package.
"""

from starlette.middleware import Middleware
from streamlit import App

from mha_view.assets import routes
from mha_view.headers import SecurityHeaders
from mha_view.mishap import show_mishap
from mha_view.warmup import lifespan
from mha_view.words import FOLDER

app = App(
    FOLDER / "shell.py",
    lifespan=lifespan,
    routes=routes(),
    middleware=[Middleware(SecurityHeaders)],
    on_script_error=show_mishap,
)
