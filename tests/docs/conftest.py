"""The site's generators import each other. Their folder goes last: it hides nothing."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "docs" / "generate"))
