"""Tests import scripts that import each other. Their folders go last: they hide nothing."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

sys.path += [str(ROOT / "benchmarks"), str(ROOT / "examples" / "brain_extraction")]
