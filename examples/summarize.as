// Summarizes a text, then checks the summary against it and writes it again until nothing is wrong, at most twice.
//
//   memorygraph run examples/summarize.as --input '{"text": "…", "points": 3}'

import llm Writer from "openai://gpt-5-mini"

main agent Summarizer {
  model Writer
  role "An editor who keeps what matters and adds nothing"
  description "Summarizes texts into a few points"

  main func(input { text string points number }) {
    summary = draft(input.text, input.points)
    review = check(input.text, summary)

    loop until review.faithful < 2 {
      summary = correct(input.text, summary, review.mistakes)
      review = check(input.text, summary)
    }

    return { points: summary faithful: review.faithful }
  }

  func draft(text, points) {
    use text < 8k
    use points

    answer = generate({ input: "Summarize the text in so many points" limit: 1k attempts: 2 }) {
      return { points list[string] }
    }
    return answer.points
  }

  func check(text, summary) {
    use text < 8k
    use summary < 2k

    return generate({ input: "List what the summary says and the text does not" attempts: 2 }) {
      return { faithful boolean mistakes list[string] }
    }
  }

  func correct(text, summary, mistakes) {
    use text < 8k
    use summary < 2k
    use mistakes < 1k

    answer = generate({ input: "Write the summary again without the mistakes" limit: 1k attempts: 2 }) {
      return { points list[string] }
    }
    return answer.points
  }
}
