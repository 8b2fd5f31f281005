"""Memory: what a text brings to mind, from all that a namespace holds, within a budget.

Every hit says how it was found and how well it fits.
"""
