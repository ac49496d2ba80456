/*
 * subject - every subject on the bus, under one version prefix. No identifier of a customer is ever
 * part of a subject. `proto/README.md` describes the bodies.
 */
#ifndef PROTO_SUBJECT_H
#define PROTO_SUBJECT_H

/* conversation service: the API's commands, then those of other channels and operators. */
#define SUBJECT_CONVERSATION            "v1.conversation.*"
#define SUBJECT_CONVERSATION_CREATE     "v1.conversation.create"
#define SUBJECT_CONVERSATION_GET        "v1.conversation.get"
#define SUBJECT_CONVERSATION_UPDATE     "v1.conversation.update"
#define SUBJECT_CONVERSATION_OPEN       "v1.conversation.open"
#define SUBJECT_CONVERSATION_APPEND     "v1.conversation.append"
#define SUBJECT_CONVERSATION_SET_STATUS "v1.conversation.set-status"
#define SUBJECT_CONVERSATION_DELETE     "v1.conversation.delete"
#define SUBJECT_CONTACT_ERASE           "v1.conversation.erase-contact"

/* search service */
#define SUBJECT_SEARCH               "v1.search.*"
#define SUBJECT_SEARCH_CONVERSATIONS "v1.search.conversations"

/* audit service */
#define SUBJECT_AUDIT        "v1.audit.*"
#define SUBJECT_AUDIT_APPEND "v1.audit.append"
#define SUBJECT_AUDIT_LIST   "v1.audit.list"
#define SUBJECT_AUDIT_VERIFY "v1.audit.verify"
#define SUBJECT_AUDIT_EXPORT "v1.audit.export"
#define SUBJECT_AUDIT_RETAIN "v1.audit.retain"

/* access service: the gateway's questions, then operators' commands. */
#define SUBJECT_ACCESS              "v1.access.*"
#define SUBJECT_ACCESS_AUTHENTICATE "v1.access.authenticate"
#define SUBJECT_ACCESS_QUOTA        "v1.access.quota"
#define SUBJECT_ACCESS_USED         "v1.access.used"
#define SUBJECT_ACCESS_ORG_CREATE   "v1.access.org-create"
#define SUBJECT_ACCESS_ORG_GET      "v1.access.org-get"
#define SUBJECT_ACCESS_ORG_LIST     "v1.access.org-list"
#define SUBJECT_ACCESS_ORG_SET      "v1.access.org-set"
#define SUBJECT_ACCESS_KEY_CREATE   "v1.access.key-create"
#define SUBJECT_ACCESS_KEY_LIST     "v1.access.key-list"
#define SUBJECT_ACCESS_KEY_ROTATE   "v1.access.key-rotate"
#define SUBJECT_ACCESS_KEY_REVOKE   "v1.access.key-revoke"
#define SUBJECT_ACCESS_POLICY_GET   "v1.access.policy-get"
#define SUBJECT_ACCESS_POLICY_SET   "v1.access.policy-set"
#define SUBJECT_ACCESS_USER_CREATE  "v1.access.user-create"

/* webhook service: operators' commands, and the events of other systems. */
#define SUBJECT_WEBHOOK                 "v1.webhook.*"
#define SUBJECT_WEBHOOK_ENDPOINT_CREATE "v1.webhook.endpoint-create"
#define SUBJECT_WEBHOOK_ENDPOINT_LIST   "v1.webhook.endpoint-list"
#define SUBJECT_WEBHOOK_ENDPOINT_SET    "v1.webhook.endpoint-set"
#define SUBJECT_WEBHOOK_ENDPOINT_DELETE "v1.webhook.endpoint-delete"
#define SUBJECT_WEBHOOK_DELIVERIES      "v1.webhook.deliveries"
#define SUBJECT_WEBHOOK_RESEND          "v1.webhook.resend"
#define SUBJECT_WEBHOOK_RESEND_FAILED   "v1.webhook.resend-failed"
#define SUBJECT_WEBHOOK_TEST            "v1.webhook.test"
#define SUBJECT_WEBHOOK_PUBLISH         "v1.webhook.publish"

/* Notices: published, never answered; losing one costs time, never data. The first: keys, plan
   or policy of the organization in the Organization-Id header changed. */
#define SUBJECT_NOTICE_ACCESS     "v1.notice.access"
#define SUBJECT_NOTICE_EVENTS     "v1.notice.events"     /* something new to be delivered */
#define SUBJECT_NOTICE_AUDIT_HEAD "v1.notice.audit-head" /* the signed head of an audit chain */

#endif
