"""The memory server of the bundle: `memorygraph serve`, over standard input and output."""

import sys

from memorygraph.cli import main

if __name__ == "__main__":
    sys.argv[1:] = ["serve"]
    main()
