"""PETE at work: logs in Neo4j, views that fit a budget, questions, and the loop in which a model thinks."""
