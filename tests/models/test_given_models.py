"""Any embedding model and LLM of LlamaIndex, handed over as objects or set in its `Settings`."""

import errno
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding, Settings
from llama_index.core import settings as llama_settings
from llama_index.core.llms import CompletionResponse, MockLLM
from llama_index.core.schema import Document
from own_models import LettersEmbedding, ParrotLLM
from pydantic import Field, SecretStr

from rag_nodes import (
    Comparison,
    Models,
    RagNodesQueryEngine,
    RagNodesRetriever,
    ask,
    choose_models,
    get_embedding,
    get_parser,
    ingest,
    ingest_documents,
    open_store,
)
from rag_nodes.core.errors import ConfigurationError, ModelConnectionError, ModelError
from rag_nodes.core.settings import Settings as OurSettings
from rag_nodes.models import check_models
from rag_nodes.models.openai import OpenAIServerEmbedding

DOCUMENT = Document(text="The tank holds nine litres. The pump runs at night.", id_="manual")
PARSERS = {"fixed": get_parser("fixed")}


class CountingEmbedding(LettersEmbedding):
    """A model of the user's own with options of every kind."""

    instruction: str = ""
    timeout: float = 60.0
    options: dict[str, Any] = Field(default_factory=dict)


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """LlamaIndex's settings as in a fresh process, in which choosing a model itself is an error."""

    def choose(model: object) -> None:
        raise AssertionError(f"LlamaIndex was made to choose {model}")

    for name in ("llm", "embed_model"):
        monkeypatch.setattr(Settings, f"_{name}", None)
        monkeypatch.setattr(llama_settings, f"resolve_{name}", choose)


def test_models_take_any_objects_of_llama_index_and_name_them() -> None:
    embed_model, llm = CountingEmbedding(model_name="vowels"), ParrotLLM()
    models = Models.of(embed_model=embed_model, llm=llm)
    assert (models.embedding, models.llm) == (embed_model, llm)
    assert models.describe() == (
        "embedding: vowels@CountingEmbedding (CountingEmbedding) · answers: parrot (ParrotLLM)"
    )
    assert not models.offline
    assert Models.of(embed_model=embed_model, offline=True).offline
    mocks = Models.of(embed_model=MockEmbedding(embed_dim=8), llm=MockLLM())
    assert mocks.embedding_name.startswith("MockEmbedding-")
    assert mocks.answer_name == "MockLLM"


def test_without_anything_given_or_set_everything_is_offline_and_llama_index_chooses_nothing() -> (
    None
):
    models = Models.of()
    assert models.describe() == choose_models(OurSettings(_env_file=None)).describe()
    assert models.offline
    assert models.llm is None


def test_models_of_llama_index_settings_are_used_and_arguments_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embed_model, llm = CountingEmbedding(), ParrotLLM()
    monkeypatch.setattr(Settings, "_embed_model", embed_model)
    half = Models.of()
    assert (half.embedding, half.llm) == (embed_model, None)
    monkeypatch.setattr(Settings, "_llm", llm)
    both = Models.of()
    assert (both.embedding, both.llm) == (embed_model, llm)
    given = Models.of(embed_model="lexical", llm="extractive")
    assert given.offline
    assert given.llm is None


def test_setting_a_model_of_llama_index_sets_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    before = vars(Settings).copy()
    try:
        Settings.embed_model, Settings.llm = CountingEmbedding(), ParrotLLM()
        models = Models.of()
        assert (models.embedding, models.llm) == (Settings.embed_model, Settings.llm)
    finally:
        vars(Settings).clear()
        vars(Settings).update(before)


def test_our_own_models_share_their_collections_with_the_command_line() -> None:
    assert Models.of(embed_model=get_embedding("lexical")).embedding_name == "lexical-1024"
    local = OpenAIServerEmbedding(model_name="nomic", api_base="http://127.0.0.1:1/v1")
    settings = OurSettings(
        embedding="openai", embedding_model="nomic", api_base=local.api_base, _env_file=None
    )
    chosen = choose_models(settings)
    assert Models.of(embed_model=local).embedding_name == chosen.embedding_name
    assert chosen.embedding_name == "nomic@127.0.0.1:1/v1"


def test_models_that_embed_differently_never_share_a_collection() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"letters": "xyz"},
        {"instruction": "passage: "},
        {"model_name": "consonants"},
        {"options": {"normalize": True}},
    ]
    models = [CountingEmbedding(**{"model_name": "vowels", **change}) for change in changes]
    names = {Models.of(embed_model=model).embedding_name for model in models}
    assert len(names) == len(changes)


def test_speed_and_access_change_no_name_and_no_key_is_in_one() -> None:
    class Keyed(CountingEmbedding):
        access: SecretStr = SecretStr("")

    plain = Models.of(embed_model=Keyed(model_name="vowels", access=SecretStr("sk-canary-1")))
    tuned = Keyed(
        model_name="vowels",
        api_key="sk-canary-1",
        access=SecretStr("sk-canary-2"),
        timeout=1.0,
        embed_batch_size=3,
        num_workers=2,
    )
    assert Models.of(embed_model=tuned).embedding_name == plain.embedding_name


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"embed_model": "lexicon"}, "use lexical, openai:<model> or fastembed:<model>"),
        ({"embed_model": object()}, "embed_model is an object; give an embedding model"),
        ({"llm": "gpt-4o"}, "llm is 'gpt-4o'; give an LLM of LlamaIndex, or 'extractive'"),
        ({"llm": MockEmbedding(embed_dim=2)}, "llm is a MockEmbedding; give an LLM"),
    ],
)
def test_objects_that_are_no_models_are_refused_with_examples(
    arguments: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(ConfigurationError, match=remedy):
        Models.of(**arguments)


def test_an_engine_reads_with_the_models_what_was_ingested_with_them(tmp_path: Path) -> None:
    embed_model, llm = CountingEmbedding(), ParrotLLM()
    file = tmp_path / "manual.txt"
    file.write_text(DOCUMENT.text, encoding="utf-8")
    with open_store() as store:
        report = ingest([file], PARSERS, store, embed_model=embed_model)
        places = {"store": store, "collection": report.columns[0].collection}
        engine = RagNodesQueryEngine(**places, embed_model=embed_model, llm=llm)
        assert "Nine litres" in str(engine.query("How much does the tank hold?"))
        answer = ask("How much does the tank hold?", **places, embed_model=embed_model, llm=llm)
        assert answer.answer_model == "parrot"
        hits = RagNodesRetriever(**places, embed_model=embed_model).retrieve("the tank")
        assert hits[0].node.get_content() == DOCUMENT.text


def test_models_next_to_one_of_their_parts_is_refused() -> None:
    models = Models.of()
    with open_store() as store:
        for use in (
            lambda: ingest_documents([], PARSERS, store, models=models, embed_model="lexical"),
            lambda: Comparison(PARSERS, models=models, llm="extractive"),
            lambda: RagNodesQueryEngine(
                store=store, collection="x", models=models, embed_model="lexical"
            ),
        ):
            with pytest.raises(ConfigurationError, match="either models, or embed_model and llm"):
                use()


class BrokenEmbedding(CountingEmbedding):
    """A model of the user's own with a mistake, or whose service is away."""

    fails: Any = None

    def _get_text_embedding(self, text: str) -> list[float]:  # noqa: ARG002
        raise self.fails

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:  # noqa: ARG002
        raise self.fails


class BrokenLLM(ParrotLLM):
    """An LLM of the user's own with a mistake."""

    def complete(self, prompt: str, **_: Any) -> CompletionResponse:
        raise KeyError(prompt[:5])


def test_a_mistake_in_a_model_of_ones_own_is_reported_by_its_class_without_an_address() -> None:
    broken = BrokenEmbedding(fails=KeyError("weights"), api_key="canary-abc-123")
    with open_store() as store:
        [column] = ingest_documents([DOCUMENT], PARSERS, store, embed_model=broken).columns
    assert f"{__name__}.BrokenEmbedding failed: KeyError; fix" in str(column.error)
    assert "http" not in str(column.error)
    assert "OpenAI" not in str(column.error)
    with open_store() as store:
        report = ingest_documents([DOCUMENT], PARSERS, store, embed_model=CountingEmbedding())
        places = {"store": store, "collection": report.columns[0].collection}
        with pytest.raises(ModelError, match=r"BrokenEmbedding failed: KeyError; fix"):
            ask("How much?", **places, embed_model=broken, llm="extractive")
        with pytest.raises(ModelError, match=r"\.BrokenLLM failed: KeyError; ") as failure:
            ask("How much?", **places, embed_model=CountingEmbedding(), llm=BrokenLLM())
    assert "http" not in str(failure.value)


def test_no_key_of_a_model_of_ones_own_is_in_what_is_said_of_its_mistake() -> None:
    class Keyed(BrokenEmbedding):
        access_key: SecretStr = SecretStr("canary-abc-123")
        _token: str = "canary-private-1"

    fails = ValueError("no use of canary-abc-123, canary-private-1 and sk-canary-2")
    with pytest.raises(ModelError) as failure:
        check_models(Models.of(embed_model=Keyed(fails=fails), llm="extractive"))
    assert "canary" not in str(failure.value)
    assert "Keyed failed: ValueError; fix it" in str(failure.value)


def test_a_service_of_ones_own_model_that_is_away_ends_the_run_as_any_other_does() -> None:
    away = BrokenEmbedding(fails=ConnectionRefusedError(errno.ECONNREFUSED, "port 7"))
    with pytest.raises(
        ModelConnectionError,
        match="ConnectionRefusedError: Connection refused",
    ):
        check_models(Models.of(embed_model=away, llm="extractive"))
    file = BrokenEmbedding(fails=FileNotFoundError(errno.ENOENT, "weights.bin"))
    with pytest.raises(ModelError, match=r"FileNotFoundError: No such file") as failure:
        check_models(Models.of(embed_model=file, llm="extractive"))
    assert not isinstance(failure.value, ModelConnectionError)
