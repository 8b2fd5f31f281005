// The vector index finds items of a store by the shelves that they are at home on: graph/migrations.py, which knows this
// file, says so of those that earlier versions gave a vector; it has no command of its own.
