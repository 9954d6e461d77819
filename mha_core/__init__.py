"""The mathematics of multi-head attention, step by step. Loads neither Streamlit nor Plotly."""
