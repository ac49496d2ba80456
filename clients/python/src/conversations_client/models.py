"""What the service answers, as proto/openapi.yaml describes it.

Version 1 of the API only grows. Members that a newer service adds are left out, and a new value where
a type lists all values, such as a new status, is kept as it is.

The types are evaluated by ``decode``, also where Python has no ``|`` for types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, Optional, TypeVar, Union

T = TypeVar("T")

Scope = Literal["read", "full"]
State = Literal["open", "closed"]
Status = Literal["active", "waiting", "human_takeover", "resolved", "archived"]
Operation = Literal[
    "ping",
    "conversation.create",
    "conversation.get",
    "conversation.update",
    "conversation.search",
    "audit.list",
    "unknown",
]
Outcome = Literal["allowed", "denied", "rejected", "error"]
ErrorCode = Literal[
    "parameter_invalid",
    "parameter_not_found",
    "invalid_json",
    "invalid_cursor",
    "invalid_operator",
    "invalid_field",
    "unauthorized",
    "api_plan_restricted",
    "insufficient_scope",
    "legacy_key_not_accepted",
    "ip_not_allowed",
    "https_required",
    "not_found",
    "method_not_allowed",
    "not_acceptable",
    "external_id_conflict",
    "customer_profile_conflict",
    "customer_unavailable",
    "payload_too_large",
    "unsupported_media_type",
    "rate_limit_exceeded",
    "server_error",
    "service_unavailable",
]
AttributeValue = Union[str, int, float, bool]


@dataclass(frozen=True)
class Ping:
    """Whose key it is, and what it may do."""

    type: Literal["ping"]
    organization_id: str
    scope: Scope
    server_time: int


@dataclass(frozen=True)
class Contact:
    """The person whom a conversation is with."""

    type: Literal["contact"]
    id: str
    external_id: Optional[str]
    name: Optional[str]
    email: Optional[str]
    phone: Optional[str]


@dataclass(frozen=True)
class ContactReference:
    """A contact in the list of a conversation's contacts."""

    type: Literal["contact"]
    id: str
    external_id: Optional[str]


@dataclass(frozen=True)
class ContactList:
    """The contact of a conversation, again as a list; empty if it has none."""

    type: Literal["contact.list"]
    contacts: list[ContactReference]


@dataclass(frozen=True)
class Source:
    """Where a conversation came from; its type is the channel."""

    type: str


@dataclass(frozen=True)
class Conversation:
    """A conversation. Times are Unix seconds."""

    type: Literal["conversation"]
    id: str
    external_id: Optional[str]
    created_at: int
    updated_at: int
    last_message_at: Optional[int]
    channel: str
    source: Source
    state: State
    open: bool
    status: Status
    custom_attributes: Mapping[str, AttributeValue]
    message_count: int
    contact: Optional[Contact]
    contacts: ContactList


@dataclass(frozen=True)
class NextPage:
    """Where the next page begins; absent on the last one."""

    starting_after: str


@dataclass(frozen=True)
class ConversationPages:
    """Which page of a search this is."""

    type: Literal["pages"]
    page: int
    per_page: int
    next: Optional[NextPage] = None


@dataclass(frozen=True)
class ConversationList:
    """A page of a search, newest first."""

    type: Literal["conversation.list"]
    conversations: list[Conversation]
    total_count: int
    pages: ConversationPages


@dataclass(frozen=True)
class AuditLog:
    """One request that was made with a key of the organization."""

    type: Literal["audit_log"]
    id: str
    request_id: str
    api_key_id: str
    operation: Operation
    http_status: int
    outcome: Outcome
    denial_reason: Optional[ErrorCode]
    conversation_id: Optional[str]
    contact_id: Optional[str]
    created_at: int


@dataclass(frozen=True)
class AuditPages:
    """Whether there are more pages of the audit log."""

    type: Literal["pages"]
    per_page: int
    next: Optional[NextPage] = None


@dataclass(frozen=True)
class AuditLogList:
    """A page of the audit log, newest first. A short or empty page can still have a next one."""

    type: Literal["audit_log.list"]
    audit_logs: list[AuditLog]
    pages: AuditPages


@dataclass(frozen=True)
class Error:
    """One error in a request."""

    code: ErrorCode
    message: str
    field: Optional[str] = None


@dataclass(frozen=True)
class ErrorList:
    """The body of an answer that is not a success."""

    type: Literal["error.list"]
    request_id: str
    errors: list[Error]


@dataclass(frozen=True)
class RateLimit:
    """Requests in the current window of 10 seconds.

    They are those of the key or those of the organization, whichever has fewer left. ``reset`` is
    when the window ends, in Unix seconds.
    """

    limit: int
    remaining: int
    reset: int


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The answer to an operation.

    ``replayed`` is True for a create whose conversation existed already: nothing was written.
    ``attempts`` is the number of requests that were made.
    """

    data: T
    status: int
    request_id: Optional[str]
    rate_limit: Optional[RateLimit]
    replayed: bool
    attempts: int
