"""The operations of the API, as calls. Both clients offer them under these names, with these arguments.

Every operation takes ``budget``, the seconds that all attempts together may take, in place of the
policy's. For a list, it is for each page.
"""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from .call import Call
from .models import (
    AuditLog,
    AuditLogList,
    Conversation,
    ConversationList,
    NextPage,
    Operation,
    Outcome,
    Ping,
)
from .pages import OnRestart, Page, Pages
from .requests import (
    AttributeChanges,
    CreateConversation,
    From,
    Pagination,
    Query,
    SearchConversations,
    UpdateConversation,
)


def ping(*, budget: float | None = None) -> Call[Ping]:
    """Checks that the key works, and returns whose it is."""
    return Call(Ping, "GET", "/ping", budget=budget)


def create_conversation(
    external_id: str,
    from_: From,
    custom_attributes: AttributeChanges | None = None,
    *,
    budget: float | None = None,
) -> Call[Conversation]:
    """Creates an empty conversation, once for each ``external_id``.

    Choose the id before the first call and keep it. ``replayed`` of the answer is True if the
    conversation existed already.
    """
    body: CreateConversation = {"external_id": external_id, "from": from_}
    if custom_attributes is not None:
        body["custom_attributes"] = custom_attributes
    about = ("external_id", external_id)
    return Call(Conversation, "POST", "/conversations", _json(body), about, budget)


def get_conversation(conversation_id: str, *, budget: float | None = None) -> Call[Conversation]:
    """Reads a conversation, by the id that the service gave it."""
    about = ("id", conversation_id.lower())
    return Call(Conversation, "GET", _path_of(conversation_id), None, about, budget)


def update_conversation(
    conversation_id: str, custom_attributes: AttributeChanges, *, budget: float | None = None
) -> Call[Conversation]:
    """Sets attributes and removes those that are None; the others stay as they are."""
    body: UpdateConversation = {"custom_attributes": custom_attributes}
    about = ("id", conversation_id.lower())
    return Call(Conversation, "PUT", _path_of(conversation_id), _json(body), about, budget)


def search_conversations(
    query: Query,
    *,
    per_page: int | None = None,
    starting_after: str | None = None,
    budget: float | None = None,
) -> Call[ConversationList]:
    """Returns one page of a contact's conversations; ``conversations()`` returns all of them."""
    pagination: Pagination = {"starting_after": starting_after}
    if per_page is not None:
        pagination["per_page"] = per_page
    body: SearchConversations = {"query": query, "pagination": pagination}
    return Call(ConversationList, "POST", "/conversations/search", _json(body), budget=budget)


def list_audit_logs(
    *,
    per_page: int | None = None,
    starting_after: str | None = None,
    operation: Operation | None = None,
    outcome: Outcome | None = None,
    api_key_id: str | None = None,
    conversation_id: str | None = None,
    created_at_after: int | None = None,
    created_at_before: int | None = None,
    budget: float | None = None,
) -> Call[AuditLogList]:
    """Returns one page of the audit log; ``audit_logs()`` returns all of it."""
    parameters = {
        "per_page": per_page,
        "starting_after": starting_after,
        "operation": operation,
        "outcome": outcome,
        "api_key_id": api_key_id,
        "conversation_id": conversation_id,
        "created_at_after": created_at_after,
        "created_at_before": created_at_before,
    }
    given = {name: value for name, value in parameters.items() if value is not None}
    path = "/audit" + ("?" + urllib.parse.urlencode(given) if given else "")
    return Call(AuditLogList, "GET", path, budget=budget)


def conversations(
    query: Query,
    *,
    per_page: int | None = None,
    on_restart: OnRestart | None = None,
    budget: float | None = None,
) -> Pages[Conversation, ConversationList]:
    """Iterates over all conversations that a search finds, newest first, each once.

    A cursor is valid for 7 days. After that an error (``invalid_cursor``) is raised. With
    ``on_restart``, that function is called with the error instead, and the search starts over.
    """

    def call(cursor: str | None) -> Call[ConversationList]:
        return search_conversations(query, per_page=per_page, starting_after=cursor, budget=budget)

    def read(page: ConversationList) -> Page[Conversation]:
        return page.conversations, _cursor_of(page.pages.next)

    return Pages(call, read, on_restart)


def audit_logs(
    *,
    per_page: int | None = None,
    operation: Operation | None = None,
    outcome: Outcome | None = None,
    api_key_id: str | None = None,
    conversation_id: str | None = None,
    created_at_after: int | None = None,
    created_at_before: int | None = None,
    on_restart: OnRestart | None = None,
    budget: float | None = None,
) -> Pages[AuditLog, AuditLogList]:
    """Iterates over all entries of the audit log, as ``conversations()`` does over a search."""

    def call(cursor: str | None) -> Call[AuditLogList]:
        return list_audit_logs(
            per_page=per_page,
            starting_after=cursor,
            operation=operation,
            outcome=outcome,
            api_key_id=api_key_id,
            conversation_id=conversation_id,
            created_at_after=created_at_after,
            created_at_before=created_at_before,
            budget=budget,
        )

    def read(page: AuditLogList) -> Page[AuditLog]:
        return page.audit_logs, _cursor_of(page.pages.next)

    return Pages(call, read, on_restart)


def _json(body: Any) -> bytes:
    return json.dumps(body, allow_nan=False).encode()


def _path_of(conversation_id: str) -> str:
    return "/conversations/" + urllib.parse.quote(conversation_id, safe="")


def _cursor_of(following: NextPage | None) -> str | None:
    return None if following is None else following.starting_after
