"""`python -m rnnsearch`: the same as the command `rnnsearch`."""

import sys

from rnnsearch.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
