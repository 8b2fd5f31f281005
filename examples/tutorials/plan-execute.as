// Plan and execute: one agent plans, another does the steps one by one, a third decides whether the goal is reached or the
// plan has to be made anew. No agent sees more than what is passed to it.
//
//   python examples/tutorials/play.py plan-execute
//   memorygraph run examples/tutorials/plan-execute.as --input '{"goal": "Plan a picnic for four"}'

import llm Model from "openai://gpt-5-mini"

agent Planner {
  model Model
  role "A planner"
  description "Breaks a goal into a few steps"

  main func(goal, done, missing) {
    use goal
    use done.summary < 4k
    use missing < 1k

    plan = generate({ input: "List the steps that are left to reach the goal" limit: 500 attempts: 2 }) {
      return { steps list[string] }
    }
    return plan.steps
  }
}

agent Worker {
  model Model
  role "A worker"
  description "Does one step, with the results of those before it"

  main func(step, previous) {
    use step
    use previous < 4k

    return generate({ input: "Do this step and say what came of it" limit: 500 attempts: 2 }) {
      return { result string }
    }
  }
}

agent Judge {
  model Model
  role "A judge"
  description "Decides whether a goal is reached"

  main func(goal, done) {
    use goal
    use done.summary < 8k

    return generate({ input: "Decide whether the goal is reached, and say what is missing" limit: 500 attempts: 2 }) {
      return { reached boolean missing string answer string }
    }
  }
}

main agent Lead {
  model Model
  role "A lead"
  description "Lets others plan, work and judge"

  main func(input { goal string }) {
    done = []
    verdict = { reached: false missing: "everything" answer: "" }

    loop until verdict.reached < 3 {
      steps = Planner(input.goal, done, verdict.missing)
      for step in steps < 10 {
        outcome = Worker({ text: step }, done.summary)
        done.add({ step: step result: outcome.result })
      }
      verdict = Judge(input.goal, done)
    }
    return { answer: verdict.answer reached: verdict.reached steps: done.length }
  }
}
