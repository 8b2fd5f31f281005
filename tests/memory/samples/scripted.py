"""A scripted model for those who make a sample: prints its URL, and answers until it is stopped."""

import time

from memorygraph.scripted.scripted_model import ScriptedModel

if __name__ == "__main__":
    with ScriptedModel(lambda _request: '{"memory": []}') as model:
        print(model.base_url, flush=True)
        while True:
            time.sleep(60)
