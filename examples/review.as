// Two agents review a change, and a third decides. No agent sees what another was told, but for what is handed over.
//
//   memorygraph run examples/review.as --input '{"title": "…", "diff": "…"}'

import llm Model from "openai://gpt-5-mini"

agent Correctness {
  model Model
  role "A reviewer who looks for mistakes"
  description "Finds what a change breaks"

  main func(diff) {
    use diff < 12k
    return generate({ input: "Report what this change breaks; nothing about style" limit: 1k attempts: 2 }) {
      return { findings list[string] }
    }
  }
}

agent Readability {
  model Model
  role "A reviewer who thinks of the next reader"
  description "Finds what is hard to understand in a change"

  main func(diff) {
    use diff < 12k
    return generate({ input: "Report what a newcomer would not understand" limit: 1k attempts: 2 }) {
      return { findings list[string] }
    }
  }
}

main agent Lead {
  model Model
  role "The maintainer who decides"
  description "Weighs the findings of the reviewers"

  main func(input { title string diff string }) {
    mistakes = Correctness(input.diff)
    obscure = Readability(input.diff)

    use input.title
    use mistakes.findings < 2k
    use obscure.findings < 1k

    verdict = generate({ input: "Decide whether this can be merged" limit: 500 attempts: 2 }) {
      return { merge boolean reason string }
    }
    if verdict.merge {
      return { merge: true reason: verdict.reason findings: [] }
    }
    return { merge: false reason: verdict.reason findings: mistakes.findings }
  }
}
