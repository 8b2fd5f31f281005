"""The threads in which tools keep an event loop."""

import threading


def portal_threads() -> set[threading.Thread]:
    """Those that run now; a test that opens and closes a tool finds the same before and after."""
    return {thread for thread in threading.enumerate() if "portal" in thread.name}
