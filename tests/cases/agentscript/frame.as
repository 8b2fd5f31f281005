import llm Model from "openai://m"
import tool Search from "https://example.org"
import memory Facts from "file://facts.jsonl"
import file Notes from "notes.txt"
main agent A {
  model Model
  role "r"
  description "d"
  main func(input) {
    // the body of a case stands here
  }
  func helper(a, b) { return a }
}
agent W {
  main func(x) { return x }
  func other() { return 1 }
}
