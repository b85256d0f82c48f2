"""``python examples/brain_extraction``: see `command`."""

import sys

from command import main

sys.exit(main())
