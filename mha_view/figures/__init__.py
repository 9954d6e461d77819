"""Plotly figures as pure functions."""
