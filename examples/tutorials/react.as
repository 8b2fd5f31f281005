// ReAct: the model reasons, acts by a tool, and sees what came of it, until it knows the answer or the steps are used up.
// What it has seen is a list; the model gets its summary, which is a copy of it within a budget.
//
//   python examples/tutorials/play.py react
//   memorygraph run examples/tutorials/react.as --allow-tool file --input '{"question": "Who led the flight software?"}'

import llm Model from "openai://gpt-5-mini"
import tool Notes from "file://notes"

main agent Researcher {
  model Model
  role "A researcher who looks things up"
  description "Reasons, reads a note, and reasons again"

  main func(input { question string }) {
    scratch = []
    step = think(input.question, scratch)

    loop until step.done < 5 {
      scratch.add({ thought: step.thought note: step.note observation: observe(step.note) })
      step = think(input.question, scratch)
    }
    return { answer: step.answer steps: scratch.length }
  }

  func think(question, scratch) {
    notes = Notes.list()
    use question
    use notes
    use scratch.summary < 4k

    return generate({ input: "Decide which note to read next, or answer if the notes say enough" limit: 500 attempts: 2 }) {
      return { thought string note string done boolean answer string }
    }
  }

  func observe(note) {
    if Notes.exists(note) {
      return Notes.read(note)
    }
    return "there is no such note"
  }
}
