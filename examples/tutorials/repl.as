// Line by line: each line is answered with what was said before, of which the budget keeps the first lines. The same works by
// hand: `memorygraph repl` reads statements one at a time, and `:help` says how.
//
//   python examples/tutorials/play.py repl
//   memorygraph run examples/tutorials/repl.as --input '{"lines": ["Hi, I am Ada.", "Who am I?"]}'

import llm Model from "openai://gpt-5-mini"

main agent Chat {
  model Model
  role "A partner in a conversation"
  description "Answers each line in the light of those before"

  main func(input { lines list[string] }) {
    said = []
    for line in input.lines < 20 {
      said.add({ you: line me: answer(line, said) })
    }
    return said
  }

  func answer(line, said) {
    use said.summary < 4k
    use line

    reply = generate({ input: "Answer the line" limit: 300 attempts: 2 }) {
      return { text string }
    }
    return reply.text
  }
}
