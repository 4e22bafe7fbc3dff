"""Entry point of `python -m etude` and of `torchrun -m etude`."""

import sys

from etude.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
