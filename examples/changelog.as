// Writes the changelog of the latest commits of the repository that this file lies in.
//
//   memorygraph run examples/changelog.as --allow-tool sh --input '{"commits": 30}'

import llm Writer from "openai://gpt-5-mini"
import tool Git from "sh://git"

main agent Changelog {
  model Writer
  role "The maintainer of a library, writing for those who use it"
  description "Turns commits into a changelog"

  main func(input { commits number }) {
    log = Git.run("log", "--no-merges", "--format=%s%n%b", "-n", input.commits)
    if log.code != 0 {
      return { error: log.stderr }
    }

    use log.stdout < 6k
    entries = generate({ input: "Sort what users will notice into added, changed and fixed" limit: 2k attempts: 2 }) {
      return { added list[string] changed list[string] fixed list[string] }
    }

    use entries
    title = generate({ input: "Say the most important of it in one line" limit: 200 attempts: 2 }) {
      return { title string }
    }
    return { title: title.title entries: entries }
  }
}
