"""The user's own transformations behind a parser, and the laws of the nodes kept behind them."""

from rag_nodes.transforms.user.steps import UserTransformations, identity_of

__all__ = ["UserTransformations", "identity_of"]
