// A program as a command: its input is checked, its value is printed, and a trace says what the model saw.
//
//   python examples/tutorials/play.py command-line
//   memorygraph run examples/tutorials/command-line.as --input '{"text": "…", "style": "formal"}' --quiet
//   memorygraph run examples/tutorials/command-line.as --input @letter.json --trace pretty
//   memorygraph run examples/tutorials/command-line.as --mock       # without a model; a terminal is asked for the input

import llm Model from "openai://gpt-5-mini"

main agent Editor {
  model Model
  role "An editor"
  description "Rewrites texts in another style and keeps what they say"

  main func(input { text string style string }) {
    use input.text < 4k
    use input.style

    edited = generate({ input: "Rewrite the text in this style" limit: 1k attempts: 2 }) {
      return { text string }
    }
    return edited.text
  }
}
