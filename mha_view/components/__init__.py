"""Browser components (Streamlit components v2)."""
