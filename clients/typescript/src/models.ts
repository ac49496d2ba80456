/**
 * What the service answers and accepts, as proto/openapi.yaml describes it, with the same names.
 *
 * Version 1 of the API only grows: an answer may have members that are not here. The service refuses
 * requests with unknown members.
 */

export type Scope = 'read' | 'full';
export type State = 'open' | 'closed';
export type Status = 'active' | 'waiting' | 'human_takeover' | 'resolved' | 'archived';

export type Operation =
  | 'ping'
  | 'conversation.create'
  | 'conversation.get'
  | 'conversation.update'
  | 'conversation.search'
  | 'audit.list'
  | 'unknown';

export type Outcome = 'allowed' | 'denied' | 'rejected' | 'error';

export type ErrorCode =
  | 'parameter_invalid'
  | 'parameter_not_found'
  | 'invalid_json'
  | 'invalid_cursor'
  | 'invalid_operator'
  | 'invalid_field'
  | 'unauthorized'
  | 'api_plan_restricted'
  | 'insufficient_scope'
  | 'legacy_key_not_accepted'
  | 'ip_not_allowed'
  | 'https_required'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'external_id_conflict'
  | 'customer_profile_conflict'
  | 'customer_unavailable'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'rate_limit_exceeded'
  | 'server_error'
  | 'service_unavailable';

export type AttributeValue = string | number | boolean;
export type Attributes = { [key: string]: AttributeValue };
/** Attributes to set; null removes one. */
export type AttributeChanges = { [key: string]: AttributeValue | null };

// -- answers ----------------------------------------------------------------------------------------

/** Whose key it is, and what it may do. */
export interface Ping {
  type: 'ping';
  organization_id: string;
  scope: Scope;
  server_time: number;
}

/** The person whom a conversation is with. */
export interface Contact {
  type: 'contact';
  id: string;
  external_id: string | null;
  name: string | null;
  email: string | null;
  phone: string | null;
}

/** The contact of a conversation, again as a list; empty if it has none. */
export interface ContactList {
  type: 'contact.list';
  contacts: { type: 'contact'; id: string; external_id: string | null }[];
}

/** A conversation. Times are Unix seconds. */
export interface Conversation {
  type: 'conversation';
  id: string;
  external_id: string | null;
  created_at: number;
  updated_at: number;
  last_message_at: number | null;
  channel: string;
  source: { type: string };
  state: State;
  open: boolean;
  status: Status;
  custom_attributes: Attributes;
  message_count: number;
  contact: Contact | null;
  contacts: ContactList;
}

/** Where the next page begins; absent on the last one. */
export interface NextPage {
  starting_after: string;
}

/** A page of a search, newest first. */
export interface ConversationList {
  type: 'conversation.list';
  conversations: Conversation[];
  total_count: number;
  pages: { type: 'pages'; page: number; per_page: number; next?: NextPage };
}

/** One request that was made with a key of the organization. */
export interface AuditLog {
  type: 'audit_log';
  id: string;
  request_id: string;
  api_key_id: string;
  operation: Operation;
  http_status: number;
  outcome: Outcome;
  denial_reason: ErrorCode | null;
  conversation_id: string | null;
  contact_id: string | null;
  created_at: number;
}

/** A page of the audit log, newest first. A short or empty page can still have a next one. */
export interface AuditLogList {
  type: 'audit_log.list';
  audit_logs: AuditLog[];
  pages: { type: 'pages'; per_page: number; next?: NextPage };
}

/** One error in a request: `Error` in the description. */
export interface ErrorDetail {
  code: ErrorCode;
  message: string;
  field?: string;
}

/** The body of an answer that is not a success. */
export interface ErrorList {
  type: 'error.list';
  request_id: string;
  errors: ErrorDetail[];
}

// -- requests ---------------------------------------------------------------------------------------

/** A contact, by exactly one of `external_id`, your id, and `id`, the service's. */
export interface From {
  type?: 'contact' | 'user' | 'lead' | 'customer';
  external_id?: string;
  id?: string;
  name?: string;
  email?: string;
  phone?: string;
}

export interface CreateConversation {
  external_id: string;
  from: From;
  custom_attributes?: AttributeChanges;
}

export interface UpdateConversation {
  custom_attributes: AttributeChanges;
}

export interface ContactExternalIdFilter {
  field: 'contact.external_id';
  operator: '=';
  value: string;
}

export interface ContactIdFilter {
  field: 'contact.id' | 'contact_ids';
  operator: '=';
  value: string;
}

export type ContactFilter = ContactExternalIdFilter | ContactIdFilter;

/** `field` is `custom_attributes.` and the key. `!=` also finds an absent attribute. */
export interface AttributeFilter {
  field: string;
  operator: '=' | '!=';
  value: AttributeValue;
}

export interface ExternalIdFilter {
  field: 'external_id';
  operator: '=' | '!=';
  value: string;
}

export interface ExternalIdListFilter {
  field: 'external_id';
  operator: 'IN' | 'NIN';
  value: string[];
}

export interface ChannelFilter {
  field: 'channel' | 'source.type';
  operator: '=' | '!=';
  value: string;
}

export interface ChannelListFilter {
  field: 'channel' | 'source.type';
  operator: 'IN' | 'NIN';
  value: string[];
}

export interface StateFilter {
  field: 'state';
  operator: '=' | '!=';
  value: State;
}

export interface StatusFilter {
  field: 'status';
  operator: '=' | '!=';
  value: Status;
}

export interface StatusListFilter {
  field: 'status';
  operator: 'IN' | 'NIN';
  value: Status[];
}

export interface TimeFilter {
  field: 'created_at' | 'updated_at';
  operator: '=' | '!=' | '>' | '<';
  value: number;
}

export type Filter =
  | ContactFilter
  | AttributeFilter
  | ExternalIdFilter
  | ExternalIdListFilter
  | ChannelFilter
  | ChannelListFilter
  | StateFilter
  | StatusFilter
  | StatusListFilter
  | TimeFilter;

/** All filters must match; exactly one of them names the contact. */
export interface FilterGroup {
  operator: 'AND';
  value: Filter[];
}

export type Query = ContactFilter | FilterGroup;

export interface SearchConversations {
  query: Query;
  pagination?: { per_page?: number; starting_after?: string | null };
}

/** The query parameters of the audit log. */
export interface AuditQuery {
  per_page?: number;
  starting_after?: string;
  operation?: Operation;
  outcome?: Outcome;
  api_key_id?: string;
  conversation_id?: string;
  created_at_after?: number;
  created_at_before?: number;
}
