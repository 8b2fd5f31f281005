// Memory: what is known about a question comes into the prompt within a budget, and the answer is kept for the next run.
//
//   python examples/tutorials/play.py memory
//   memorygraph run examples/tutorials/memory.as --input '{"learned": "…", "question": "…"}'

import llm Model from "openai://gpt-5-mini"
import memory Known from "neo4j://"

main agent Rememberer {
  model Model
  role "An assistant with a good memory"
  description "Answers from what it has learned before"

  main func(input { learned string question string }) {
    Known.add({ kind: "note" text: input.learned })

    use input.question
    use Known.recall(input.question) < 1k

    answer = generate({ input: "Answer from what is known" limit: 300 attempts: 2 }) {
      return { text string }
    }
    Known.add({ kind: "answer" question: input.question text: answer.text })
    return answer.text
  }
}
