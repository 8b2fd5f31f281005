"""Errors of the client of OpenAI as errors of memorygraph, which say what to check."""

from __future__ import annotations

from memorygraph.errors import ModelError
from memorygraph.llm.completion import error_text

# Where the key and the URL come from, for the messages that say what to check.
CONFIGURED_BY = ("OPENAI_API_KEY", "OPENAI_BASE_URL")

# What each error of the client means, and what to do; `key` and `url` name where those come from. The most specific
# class of an error decides; a test compares this table with the client's tree.
MEANINGS = {
    "AuthenticationError": "the model endpoint refused the API key: check {key}",
    "PermissionDeniedError": "the API key may not use this model: check MEMORYGRAPH_MODEL and the key's rights",
    "NotFoundError": "the model endpoint knows no such model or path: check the model's name and {url}",
    "BadRequestError": "the model endpoint refused the request",
    "UnprocessableEntityError": "the model endpoint refused the request",
    "ConflictError": "the model endpoint is busy with a conflicting request; try again",
    "RateLimitError": "the model endpoint's rate limit or quota is exhausted: wait, or check the account",
    "InternalServerError": "the model endpoint failed; try again later",
    "APIStatusError": "the model endpoint refused the request",
    "APITimeoutError": "the model endpoint did not answer in time: try again, or allow more time",
    "APIConnectionError": "the model endpoint cannot be reached: is it running, and is {url} right?",
    "APIResponseValidationError": "the model endpoint's answer is not in the OpenAI format; does its URL end in /v1?",
    "APIError": "the model endpoint failed in the middle of its answer",
    "LengthFinishReasonError": "the model's answer was cut at its length limit: allow more tokens",
    "ContentFilterFinishReasonError": "the model endpoint's content filter stopped the answer",
    "SubjectTokenProviderError": "the login to the model endpoint failed",
    "InvalidWebhookSignatureError": "a webhook's signature is wrong",
    "WebSocketConnectionClosedError": "the connection to the model endpoint was lost; try again",
    "WebSocketQueueFullError": "the connection to the model endpoint is overloaded; try again",
    "StreamAlreadyConsumed": "the model's answer was read twice",
    "MutuallyExclusiveAuthError": "two ways to log in to the model endpoint are configured: keep one",
    "OpenAIError": "the model client is not configured right: check {key} and {url}",
}


def translate_model_error(
    error: Exception, api_key: str | None = None, configured_by: tuple[str, str] = CONFIGURED_BY
) -> ModelError:
    """Return the error of memorygraph that stands for one of the client's, without the API key in its text."""
    key, url = configured_by
    kinds = (kind.__name__ for kind in type(error).__mro__)
    meaning = next((MEANINGS[name] for name in kinds if name in MEANINGS), "the model endpoint failed")
    detail = error_text(getattr(error, "body", None) or str(error) or type(error).__name__)
    return ModelError(f"{meaning.format(key=key, url=url)} ({without_key(detail, api_key)})")


def without_key(text: str, api_key: str | None) -> str:
    """Take the API key out of a text."""
    return text.replace(api_key, "[API key]") if api_key else text
