"""The Neo4j that starts by itself: its files, its process, its start cache, backups, and what examines it."""
