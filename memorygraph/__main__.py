"""`python -m memorygraph`: the command line."""

from memorygraph.cli import main

main()
