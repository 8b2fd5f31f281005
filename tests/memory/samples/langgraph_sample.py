"""Makes `langgraph.jsonl` with LangGraph's own store, here of langgraph 1.2.

python -m tests.memory.samples.langgraph_sample
"""

import json
from pathlib import Path

from langgraph.store.memory import InMemoryStore

store = InMemoryStore()
store.put(("users", "ada"), "diet", {"likes": ["green tea", "soup"], "allergic": {"to": "nuts"}})
store.put(("users", "ada"), "music", {"plays": "harpsichord", "years": 12})
store.put(("users", "bob"), "diet", {"likes": [], "vegan": True})
store.put(("cook",), "rules", {"text": "Never serve nuts to Ada."})

if __name__ == "__main__":
    lines = [json.dumps(item.dict()) for item in store.search((), limit=100)]
    (Path(__file__).parent / "langgraph.jsonl").write_text("\n".join(lines) + "\n")
