"""Conversations as an immutable message graph behind a list: values, the branch rule, and two storages for it."""
