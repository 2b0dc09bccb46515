"""What code an object runs, as a digest that is the same in every process."""

from rag_nodes.code_identity.walk import Code, code_of

__all__ = ["Code", "code_of"]
