"""One user's documents, parsers and questions: what the page, REST and MCP share."""
