// What belongs to a node alone goes with it: what earlier versions left behind is deleted by graph/migrations.py, which
// this file names; it has no command of its own.
