"""A typed client for the Conversations API, version 1. Client is for threads, AsyncClient for asyncio.

    from conversations_client import Client

    with Client("https://conversations.example.com/api/v1", api_key) as client:
        made = client.create_conversation("order-1042", {"external_id": "user-7"})
        print(made.data.id, made.replayed)
"""

from . import requests, webhooks
from .async_client import AsyncClient
from .client import Client
from .errors import (
    ApiError,
    BadRequestError,
    CertificateError,
    ConflictError,
    ConversationsError,
    ForbiddenError,
    NetworkError,
    NotFoundError,
    RateLimitError,
    ServerError,
    UnauthorizedError,
    UnexpectedAnswerError,
    WebhookError,
)
from .models import (
    Answer,
    AuditLog,
    AuditLogList,
    Contact,
    Conversation,
    ConversationList,
    Error,
    ErrorCode,
    Ping,
    RateLimit,
)
from .retry import RetryPolicy
from .version import VERSION as __version__

__all__ = [
    "Answer",
    "ApiError",
    "AsyncClient",
    "AuditLog",
    "AuditLogList",
    "BadRequestError",
    "CertificateError",
    "Client",
    "ConflictError",
    "Contact",
    "Conversation",
    "ConversationList",
    "ConversationsError",
    "Error",
    "ErrorCode",
    "ForbiddenError",
    "NetworkError",
    "NotFoundError",
    "Ping",
    "RateLimit",
    "RateLimitError",
    "RetryPolicy",
    "ServerError",
    "UnauthorizedError",
    "UnexpectedAnswerError",
    "WebhookError",
    "__version__",
    "requests",
    "webhooks",
]
