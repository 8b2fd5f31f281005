// Items of a store of values by namespaces and keys (memory/items.py). They are nodes, so that recall, history and expiry know
// them. The shelf of an item is its namespace with a dot behind each part, so that those of a namespace and of all inside it
// begin alike, and the index has them in their order.

CREATE INDEX item_shelf IF NOT EXISTS
FOR (item:Item) ON (item.namespace, item.shelf, item.key);
