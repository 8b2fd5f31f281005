// Hello, world: one agent, one source of context, one call of a model.
//
//   python examples/tutorials/play.py hello
//   memorygraph run examples/tutorials/hello.as --input '{"name": "Ada"}'

import llm Model from "openai://gpt-5-mini"

main agent Greeter {
  model Model
  role "A friendly host"
  description "Greets people by their names"

  main func(input { name string }) {
    use input.name

    return generate({ input: "Greet this person in one sentence" limit: 100 }) {
      return { greeting string }
    }
  }
}
