"""AgentScript: programs that declare exactly which context a model call may see."""

from memorygraph.languages.agentscript.syntax import Import, Program

__all__ = ["Import", "Program"]
