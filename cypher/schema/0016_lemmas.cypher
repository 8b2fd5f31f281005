// Lemmas are those of a dictionary: what an earlier rule stored is brought up to date by lemma_migration.py, which
// this file names; it has no command of its own.
