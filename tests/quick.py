"""`pytest --quick`, which is `make quick`: the laws on a few examples, and the unit tests."""

from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
SLOW = (
    # Folders: a browser, a served app, a child process or every kind of store in each test.
    "apps",
    "cli",
    "server",
    "store/contract",
    # Files that start processes or servers, or take more than about two seconds.
    "operations/crawl/test_workflow.py",
    "operations/test_agents.py",
    "evaluation/test_sign_flips.py",
    "evaluation/test_evaluate.py",
    "evaluation/test_page.py",
    "models/executors/test_executors.py",
    "llamaindex/test_built_pipelines.py",
    "models/test_lexical.py",
    "models/test_openai_models.py",
    "parsers/test_cache_keys.py",
    "parsers/test_foreign.py",
    "parsers/test_growth.py",
    "parsers/test_llama_index_settings.py",
    "parsers/test_parent_child.py",
    "pipeline/test_ingest.py",
    "pipeline/test_restored_stores.py",
    "pipeline/test_stored_whole.py",
    "query/test_prompt_injection.py",
    "query/test_served_answers.py",
    "query/test_unsearched.py",
    "readers/test_bad_pdfs.py",
    "readers/test_crawl_names.py",
    "readers/test_firecrawl.py",
    "readers/test_html_hostile.py",
    "readers/test_interrupt.py",
    "readers/test_isolation.py",
    "readers/test_markdown_reader.py",
    "readers/test_pdf_steps.py",
    "readers/test_pdf_tables_links.py",
    "readers/test_shipped_corpus.py",
    "readers/test_tabular_reader.py",
    "store/edge/test_damage.py",
    "store/test_copying.py",
    "store/test_documented_snippets.py",
    "store/test_exporting.py",
    "store/test_filters_on_a_server.py",
    "store/test_grpc.py",
    "store/test_payload_version.py",
    "store/test_requests_to_a_server.py",
    "store/test_server_faults.py",
    "store/test_server_options.py",
    "store/test_store_concurrency.py",
    "store/test_store_faults.py",
    "test_benchmarks.py",
    "test_demo.py",
    "test_examples.py",
    "test_interpreter_end.py",
    "test_nights.py",
    "test_openai_end_to_end.py",
    "test_packaging.py",
    "test_public_names.py",
    "test_results.py",
    "test_single_values.py",
    "text/test_encodings.py",
    "text/test_tokenizers.py",
    "apps/visitors/test_loading.py",
    "models/test_server_address.py",
    "models/executors/test_on_ray.py",
)
"""What `make quick` leaves out, and nothing else does: paths from this folder."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="leave out what is SLOW, and try few examples"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Slow files are not even imported."""
    slow = config.getoption("--quick") and any(collection_path == HERE / name for name in SLOW)
    return True if slow else None
