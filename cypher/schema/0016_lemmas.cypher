// Lemmas are those of a dictionary: what an earlier rule stored is brought up to date by graph/migrations.py, which
// this file names; it has no command of its own.
