// Passages are found in the conversations of their messages, also those that an import by an earlier version, under another
// name, took out of them: graph/migrations.py, which knows this file, sees to it; it has no command of its own.
