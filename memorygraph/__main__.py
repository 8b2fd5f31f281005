"""The programs `memorygraph` and `python -m memorygraph`: they run the command line."""

import sys

STOPPED_BY_CTRL_C = 130  # 128 and the number of its signal, as of each command that it stops


def start_command_line() -> None:
    """Import the command line, which takes a moment in which Ctrl-C can come, and run it."""
    try:
        from memorygraph.cli import main
    except KeyboardInterrupt:
        print("memorygraph: stopped: nothing was done; run the same command again", file=sys.stderr)
        sys.exit(STOPPED_BY_CTRL_C)
    main()


if __name__ == "__main__":
    start_command_line()
