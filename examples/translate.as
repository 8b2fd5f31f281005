// Translates a text into several languages with one glossary. A call sees its own language and nothing of the others.
//
//   memorygraph run examples/translate.as --input '{"text": "The lander is down.", "languages": ["de", "fr"]}'

import llm Translator from "openai://gpt-5-mini"
import file Glossary from "glossary.json"

main agent Translation {
  model Translator
  role "A technical translator"
  description "Translates short texts and keeps to the glossary"

  main func(input { text string languages list[string] }) {
    translations = []
    for language in input.languages < 10 {
      translations.add({ language: language text: translate(input.text, language) })
    }
    return translations
  }

  func translate(text, language) {
    use text < 4k
    use language
    use Glossary < 1k

    answer = generate({ input: "Translate the text into the language" limit: 2k attempts: 2 }) {
      return { translation string }
    }
    return answer.translation
  }
}
