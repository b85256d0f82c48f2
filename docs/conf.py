"""Sphinx settings; ``sphinx-build -W`` turns every warning, a broken link too, into an error."""

project = "opspec"
author = "The opspec authors"
copyright = "2026, The opspec authors"
extensions = ["myst_parser"]
myst_heading_anchors = 3
nitpicky = True
html_theme = "alabaster"
html_theme_options = {"description": "define once, implement many times, prove that they agree"}
exclude_patterns = ["_build"]
