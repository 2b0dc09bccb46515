"""The answer settings of the source documents, each under one name."""

from __future__ import annotations

from typing import Any, Literal

AnswerPreset = Literal["workbench", "crawl", "pdf-qa"]
"""Names of the presets."""
ANSWER_PRESETS: dict[str, dict[str, Any]] = {
    "workbench": {
        "llm_model": "gpt-4o",
        "temperature": 0.2,
        "max_output_tokens": 1024,
        "budget": None,
        "top_k": 5,
    },
    "crawl": {"budget": None, "top_k": 3, "similarity_cutoff": 0.3},
    "pdf-qa": {
        "llm_model": "gpt-3.5-turbo",
        "temperature": 0.7,
        "max_output_tokens": 1000,
        "budget": None,
        "top_k": 10,
        "similarity_cutoff": 0.2,
    },
}
"""Settings by preset (S0-03, S0-27, S0-35; S3-10, S3-11; S4-07, S4-10, S4-13: a cosine distance
under 0.8 is a similarity over 0.2). Cutoffs are meant for neural embeddings."""
STEP_FACTORS: dict[str, float] = {"pdf-qa": 5.0}
"""By how much more is retrieved for questions about steps (S4-11)."""
