"""Memory: what a text brings to mind, from all that a namespace holds, within a budget."""
