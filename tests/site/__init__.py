"""The pages of the site that are made from the code, and how the site is built.

    python -m tests.site          # writes every made page anew
    python -m tests.site build    # builds the site into build/site, strictly: a broken link fails

A test fails when a page is not what it would be.
"""
