"""AgentScript: programs that declare exactly which context a model call may see."""

from memorygraph.languages.agentscript.syntax import AgentScriptProgram, Import

__all__ = ["AgentScriptProgram", "Import"]
