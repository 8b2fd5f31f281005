"""Makes `mem0.json` with mem0 itself, here 2.2.1, given the URL of a scripted model.

It runs in an environment of its own (`pip install mem0ai`).

    memorygraph's Python: python -m tests.memory.samples.scripted
mem0's Python:        python mem0_sample.py URL > mem0.json
"""

import json
import os
import sys
import tempfile

URL = sys.argv[1]
os.environ |= {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": URL, "MEM0_TELEMETRY": "False", "NO_PROXY": "127.0.0.1"}
os.environ["MEM0_DIR"] = FOLDER = tempfile.mkdtemp()

from mem0 import Memory  # noqa: E402 - it reads the environment when it is imported

MODEL = {"provider": "openai", "config": {"model": "m", "openai_base_url": URL}}
EMBEDDER = {"provider": "openai", "config": {"model": "e", "openai_base_url": URL, "embedding_dims": 8}}
VECTORS = {"provider": "qdrant", "config": {"path": f"{FOLDER}/qdrant", "embedding_model_dims": 8}}

memory = Memory.from_config(
    {"llm": MODEL, "embedder": EMBEDDER, "vector_store": VECTORS, "history_db_path": f"{FOLDER}/history.db"}
)
memory.add("Plays the harpsichord.", user_id="ada@example.org", infer=False, metadata={"topic": "music"})
[added] = memory.add("Likes tea.", user_id="ada@example.org", infer=False)["results"]
memory.update(added["id"], "Likes green tea, without sugar.")
memory.add("Answers in French.", agent_id="cook", infer=False)
found = [
    memory.get_all(filters={name: value}) for name, value in (("user_id", "ada@example.org"), ("agent_id", "cook"))
]
print(json.dumps({"results": [each for answer in found for each in answer["results"]]}, indent=2))
