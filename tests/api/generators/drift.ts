// Compiles only if the types of clients/typescript equal those generated from proto/openapi.yaml.
import type { components, operations } from './schema.js';
import type * as client from './client/dist/index.js';

type Generated = components['schemas'];

// Resolves intersections and aliases, so that the comparison does not distinguish them.
type Plain<T> = T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Same<A, B> =
  (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false;

// Each schema with its type. Schemas for the format of a string or number have none.
interface Types {
  State: client.State;
  Status: client.Status;
  Ping: client.Ping;
  Conversation: client.Conversation;
  Attributes: client.Attributes;
  Contact: client.Contact;
  ContactList: client.ContactList;
  ConversationList: client.ConversationList;
  NextPage: client.NextPage;
  AuditLogList: client.AuditLogList;
  AuditLog: client.AuditLog;
  Operation: client.Operation;
  Outcome: client.Outcome;
  ErrorList: client.ErrorList;
  Error: client.ErrorDetail;
  ErrorCode: client.ErrorCode;
  CreateConversation: client.CreateConversation;
  UpdateConversation: client.UpdateConversation;
  AttributeChanges: client.AttributeChanges;
  SearchConversations: client.SearchConversations;
  FilterGroup: client.FilterGroup;
  ContactFilter: client.ContactFilter;
  ContactExternalIdFilter: client.ContactExternalIdFilter;
  ContactIdFilter: client.ContactIdFilter;
  AttributeFilter: client.AttributeFilter;
  ExternalIdFilter: client.ExternalIdFilter;
  ExternalIdListFilter: client.ExternalIdListFilter;
  ChannelFilter: client.ChannelFilter;
  ChannelListFilter: client.ChannelListFilter;
  StateFilter: client.StateFilter;
  StatusFilter: client.StatusFilter;
  StatusListFilter: client.StatusListFilter;
  TimeFilter: client.TimeFilter;
}
type Texts = 'Id' | 'ExternalId' | 'Time' | 'Cursor' | 'AttributeKey';

export const names: Record<Exclude<keyof Generated, Texts>, true> = {} as Record<keyof Types, true>;
export const schemas: Record<keyof Types, true> = {} as {
  [K in keyof Types]: K extends keyof Generated ? Same<Types[K], Generated[K]> : false;
};
export const query: true = {} as Same<
  client.AuditQuery,
  NonNullable<operations['listAuditLogs']['parameters']['query']>
>;
export const methods: Record<keyof operations, unknown> = {} as client.Client;
