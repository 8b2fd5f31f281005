"""What fills a prompt: values rendered as text, clipped to a budget, and put under labels that no text can forge."""
