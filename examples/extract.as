// Reads facts out of a text and keeps them in the graph. What the graph knows already comes into the prompt, within
// a budget, so that nothing is kept twice.
//
//   memorygraph run examples/extract.as --input '{"text": "Margaret Hamilton led the flight software."}'

import llm Reader from "openai://gpt-5-mini"
import memory Facts from "neo4j://"

main agent Extractor {
  model Reader
  role "A careful reader who invents nothing"
  description "Finds the facts that a text states"

  main func(input { text string }) {
    use input.text < 8k
    use Facts.recall(input.text) < 2k

    found = generate({ input: "List the facts of the text that are not known yet" limit: 1k attempts: 3 }) {
      return { facts list[json] }
    }

    kept = []
    for fact in found.facts < 20 {
      kept.add(Facts.add({ kind: "fact" fact: fact }))
    }
    return { facts: found.facts kept: kept.length }
  }
}
