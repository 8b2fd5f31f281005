"""What all languages are read with: a grammar as data, the machine that matches it, and what is found wrong."""
