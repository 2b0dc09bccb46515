"""Access to OpenAI or a compatible server: address, key and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import SET_KEY, ConfigurationError, CredentialsError

if TYPE_CHECKING:
    from rag_nodes.core.settings import Settings


def server_access(settings: Settings) -> dict[str, Any]:
    """Return where and how OpenAI or a compatible server is asked, as options of its models.

    Raises:
        ConfigurationError: the address is none.
        CredentialsError: the key cannot work, which is found before any request; compatible
            servers choose their own.
    """
    if settings.api_base:
        _check_address(settings.api_base)
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    if settings.uses_openai_itself and not key:
        raise CredentialsError(
            f"an OpenAI model is chosen, but no key is set; {SET_KEY}, set OPENAI_BASE_URL (or "
            "api_base) for a compatible server, or use the offline models: embedding=lexical, "
            "llm=extractive"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise CredentialsError(
            "the key contains a blank or a character that no key has; copy it again, without quotes"
        )
    if settings.uses_openai_itself and not key.startswith("sk-"):
        raise CredentialsError(
            "the key does not start with sk-, so it is not an OpenAI key; set api_base if it "
            "belongs to a compatible server"
        )
    return {
        "api_key": settings.api_key,
        "api_base": settings.api_base,
        "timeout": settings.request_timeout,
        "retry_seconds": settings.retry_seconds,
    }


def _check_address(api_base: str) -> None:
    import httpx

    try:
        host = httpx.URL(api_base).host
    except (httpx.InvalidURL, ValueError):  # what IDNA refuses is a ValueError
        host = ""
    if not host:
        raise ConfigurationError(
            f"api_base: '{api_base}' is not an address; write it like http://localhost:11434/v1"
        )
