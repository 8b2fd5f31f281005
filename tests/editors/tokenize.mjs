// Prints, for each file after the grammar's, the innermost scope of each of its characters, as VS Code finds them.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const oniguruma = require("vscode-oniguruma");
const { Registry, INITIAL, parseRawGrammar } = require("vscode-textmate");

const [grammarFile, ...files] = process.argv.slice(2);
await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
const onigLib = Promise.resolve({
  createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
  createOnigString: (text) => new oniguruma.OnigString(text),
});
const raw = parseRawGrammar(readFileSync(grammarFile, "utf8"), grammarFile);
const registry = new Registry({ onigLib, loadGrammar: async () => raw });
const grammar = await registry.loadGrammar(raw.scopeName);

const answers = files.map((file) => {
  let stack = INITIAL;
  return readFileSync(file, "utf8").split("\n").map((line) => {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
    stack = ruleStack;
    return tokens.map((token) => [token.startIndex, token.endIndex, token.scopes.at(-1)]);
  });
});
console.log(JSON.stringify(answers));
