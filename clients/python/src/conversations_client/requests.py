"""What the service accepts, as proto/openapi.yaml describes it. It refuses all other members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Optional, TypedDict, Union

from .models import AttributeValue, State, Status

AttributeChanges = Mapping[str, Optional[AttributeValue]]
"""Attributes to set; None removes one."""

From = TypedDict(
    "From",
    {
        "type": Literal["contact", "user", "lead", "customer"],
        "external_id": str,
        "id": str,
        "name": str,
        "email": str,
        "phone": str,
    },
    total=False,
)
"""A contact, by exactly one of ``external_id``, your id, and ``id``, the service's."""

_CreateConversation = TypedDict("_CreateConversation", {"external_id": str, "from": From})


class CreateConversation(_CreateConversation, total=False):
    custom_attributes: AttributeChanges


class UpdateConversation(TypedDict):
    custom_attributes: AttributeChanges


class ContactExternalIdFilter(TypedDict):
    field: Literal["contact.external_id"]
    operator: Literal["="]
    value: str


class ContactIdFilter(TypedDict):
    field: Literal["contact.id", "contact_ids"]
    operator: Literal["="]
    value: str


ContactFilter = Union[ContactExternalIdFilter, ContactIdFilter]


class AttributeFilter(TypedDict):
    """``field`` is ``custom_attributes.`` and the key. ``!=`` also finds an absent attribute."""

    field: str
    operator: Literal["=", "!="]
    value: AttributeValue


class ExternalIdFilter(TypedDict):
    field: Literal["external_id"]
    operator: Literal["=", "!="]
    value: str


class ExternalIdListFilter(TypedDict):
    field: Literal["external_id"]
    operator: Literal["IN", "NIN"]
    value: Sequence[str]


class ChannelFilter(TypedDict):
    field: Literal["channel", "source.type"]
    operator: Literal["=", "!="]
    value: str


class ChannelListFilter(TypedDict):
    field: Literal["channel", "source.type"]
    operator: Literal["IN", "NIN"]
    value: Sequence[str]


class StateFilter(TypedDict):
    field: Literal["state"]
    operator: Literal["=", "!="]
    value: State


class StatusFilter(TypedDict):
    field: Literal["status"]
    operator: Literal["=", "!="]
    value: Status


class StatusListFilter(TypedDict):
    field: Literal["status"]
    operator: Literal["IN", "NIN"]
    value: Sequence[Status]


class TimeFilter(TypedDict):
    field: Literal["created_at", "updated_at"]
    operator: Literal["=", "!=", ">", "<"]
    value: int


Filter = Union[
    ContactExternalIdFilter,
    ContactIdFilter,
    AttributeFilter,
    ExternalIdFilter,
    ExternalIdListFilter,
    ChannelFilter,
    ChannelListFilter,
    StateFilter,
    StatusFilter,
    StatusListFilter,
    TimeFilter,
]


class FilterGroup(TypedDict):
    """All filters must match; exactly one of them names the contact."""

    operator: Literal["AND"]
    value: Sequence[Filter]


Query = Union[ContactExternalIdFilter, ContactIdFilter, FilterGroup]


class Pagination(TypedDict, total=False):
    per_page: int
    starting_after: Optional[str]


class _SearchConversations(TypedDict):
    query: Query


class SearchConversations(_SearchConversations, total=False):
    pagination: Pagination
