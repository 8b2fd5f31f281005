// Self-improvement: a draft is judged, what is wrong with it is learned, and it is written again until it is good enough.
//
//   python examples/tutorials/play.py self-improve
//   memorygraph run examples/tutorials/self-improve.as --input '{"task": "Explain recursion to a child"}'

import llm Model from "openai://gpt-5-mini"

main agent Writer {
  model Model
  role "A writer who learns from criticism"
  description "Writes, judges what it wrote, and writes it again"

  main func(input { task string }) {
    lessons = []
    draft = write(input.task, "", lessons)
    review = judge(input.task, draft)

    loop until review.good < 3 {
      lessons.add(review.lesson)
      draft = write(input.task, draft, lessons)
      review = judge(input.task, draft)
    }
    return { text: draft good: review.good lessons: lessons }
  }

  func write(task, former, lessons) {
    use task
    use former < 4k
    use lessons.summary < 2k

    answer = generate({ input: "Do the task, better than the former text, by the lessons" limit: 1k attempts: 2 }) {
      return { text string }
    }
    return answer.text
  }

  func judge(task, draft) {
    role "A strict critic"
    use task
    use draft < 4k

    return generate({ input: "Judge the text, and name the one lesson that matters most" limit: 300 attempts: 2 }) {
      return { good boolean lesson string }
    }
  }
}
