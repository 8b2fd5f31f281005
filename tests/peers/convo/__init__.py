"""Compare Convo-Lang as memorygraph runs it with the original implementation, in TypeScript.

`CONVO_LANG_DIR` names a folder with a checkout of `convo-lang/convo-lang`, and of whatever else holds Convo-Lang; every
file and every snippet below it is read by both. Node and npm must be on the PATH: esbuild, and what the original
imports, are installed into a temporary folder. Nothing of the original is part of this repository.

    CONVO_LANG_DIR=~/convo python -m tests.peers.convo      prints the table, with every difference
    CONVO_LANG_DIR=~/convo pytest tests/peers/convo         holds it to the goals
"""
