"""What makes a sample runs in an environment of its own, and is no test."""

collect_ignore = ["graphiti_sample.py", "mem0_sample.py"]
