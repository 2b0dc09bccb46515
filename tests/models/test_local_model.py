"""Neural embeddings in this process: the loading code is real, the model is four words large."""

import copy
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from in_worker import TINY as NAME
from tiny_onnx import write_model

from rag_nodes.core.errors import ConfigurationError, MissingExtraError, ModelConnectionError
from rag_nodes.core.settings import Settings
from rag_nodes.models import Models, check_models, choose_models, get_embedding
from rag_nodes.parsers import get_parser

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")
installed = pytest.mark.skipif(
    find_spec("fastembed") is None or find_spec("llama_index.embeddings.fastembed") is None,
    reason="the extra fastembed is not for this Python",
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = str(write_model(tmp_path / "tiny"))
    return Settings(
        embedding=f"fastembed:{NAME}", embedding_options={"specific_model_path": folder}
    )


@installed
def test_a_model_is_loaded_from_its_folder_and_runs_offline(settings: Settings) -> None:
    models = choose_models(settings)
    assert models.embedding.get_text_embedding("tank") == pytest.approx([0.6, 0.8])
    assert models.embedding.get_query_embedding("pump") == pytest.approx([0.8, -0.6])
    assert models.describe() == f"embedding: {NAME} (offline) · answers: extractive (offline)"
    assert models.offline
    check_models(models)


@installed
async def test_batches_async_calls_and_half_surrogates_are_embedded(settings: Settings) -> None:
    model = choose_models(settings).embedding
    first, two = model.get_text_embedding_batch(["tank", "pump \ud800"])
    assert await model.aget_text_embedding("tank") == first
    assert len(two) == 2


@installed
def test_a_copy_shares_the_loaded_model(settings: Settings) -> None:
    model = choose_models(settings).embedding
    assert copy.deepcopy(model) is model


@installed
def test_parsers_that_compare_sentences_do_so_with_it(settings: Settings) -> None:
    models = choose_models(settings)
    assert models.sentence_model is models.embedding
    assert Models.of().sentence_model is None
    parser = get_parser("semantic", embed_model=models.sentence_model)
    assert NAME in str(parser.to_dict())


@installed
def test_a_model_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a/b is not supported"):
        get_embedding("fastembed:a/b")


@installed
def test_a_model_that_cannot_be_loaded_says_where_it_may_come_from(
    settings: Settings, tmp_path: Path
) -> None:
    empty = {"specific_model_path": str(tmp_path / "nothing")}
    with pytest.raises(ModelConnectionError, match="check the network, or name a folder"):
        choose_models(settings.model_copy(update={"embedding_options": empty}))


@pytest.mark.parametrize(
    ("version", "error", "words"),
    [
        ((3, 12), MissingExtraError, r"pip install 'rag-nodes\[fastembed\]'"),
        ((3, 13), ConfigurationError, r"does not support Python 3\.13"),
    ],
)
def test_without_the_package_the_install_line_is_named_or_that_there_is_none(
    version: tuple[int, int], error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.delitem(sys.modules, "rag_nodes.models.local", raising=False)
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(error, match=words):
        get_embedding("fastembed:BAAI/bge-small-en-v1.5")
