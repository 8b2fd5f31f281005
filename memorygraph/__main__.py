"""The programs `memorygraph` and `python -m memorygraph`: they run the command line."""

import sys

from memorygraph.errors import find_interrupt

STOPPED_BY_CTRL_C = 130  # 128 and the number of its signal, as of each command that it stops


def start_command_line() -> None:
    """Import the command line, which takes a moment in which Ctrl-C can come, and run it."""
    try:
        try:
            from memorygraph.cli import main
        except (Exception, KeyboardInterrupt) as error:  # while a class is made, Python raises a RuntimeError from it
            if find_interrupt(error) is None:
                raise
            print("memorygraph: stopped: nothing was done; run the same command again", file=sys.stderr)
            sys.exit(STOPPED_BY_CTRL_C)
        main()
    finally:
        # After a Ctrl-C within the `exec` of a text, as dataclasses have it, `python -m` would end by the signal,
        # whatever the exit code, unless another text is executed.
        exec("")  # noqa: S102


if __name__ == "__main__":
    start_command_line()
