"""The memory server: the graph for any MCP client, over standard input and output or over HTTP."""

from memorygraph.mcp_server.http import build_app, serve_http
from memorygraph.mcp_server.server import BackgroundGraph, build_server, choose_tools, serve_stdio

__all__ = ["BackgroundGraph", "build_app", "build_server", "choose_tools", "serve_http", "serve_stdio"]
