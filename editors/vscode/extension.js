// Starts the language server, and nothing more: what it can do is in memorygraph itself.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("memorygraph");
  const server = { command: settings.get("program"), args: settings.get("arguments") };
  const documentSelector = ["contextscript", "agentscript", "convo", "pete"].map((language) => ({ language }));
  client = new LanguageClient("memorygraph", "memorygraph", server, { documentSelector });
  return client.start();
};

exports.deactivate = () => client?.stop();
