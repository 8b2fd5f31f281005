// Messages have a label of their role, and an assistant's that no model sampled from what stands before it one more, by which
// Neo4j Browser colors them: graph/message_labels.py, which this file names, gives them to those that earlier versions
// stored; it has no command of its own.
