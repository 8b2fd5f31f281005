"""What fills a prompt: values rendered as text, clipped to a budget, and put under labels that no text can forge.

Each item remembers its source, its sizes before and after, and the nodes of the graph that it came from.
"""
