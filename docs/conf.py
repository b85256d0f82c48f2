"""Sphinx settings; ``sphinx-build -W`` turns every warning, a broken link too, into an error."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "generate"))

project = "opspec"
author = "The opspec authors"
copyright = "2026, The opspec authors"
extensions = ["myst_parser", "site_extension"]
myst_heading_anchors = 3
nitpicky = True
html_theme = "furo"
html_title = "opspec"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["taps.html"]
html_copy_source = False
exclude_patterns = ["_build"]
pygments_style = "default"
pygments_dark_style = "github-dark"
