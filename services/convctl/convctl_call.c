#include "services/convctl/convctl_call.h"

#include <string.h>

#include "proto/subject.h"
#include "services/convctl/list_services.h"

#define EVENTS "ticket.created|ticket.resolved|ai.handoff"
#define PLANS  "free|starter|growth|enterprise"

/* The organization, as an option or by its position. */
#define ORG_OPTION                                                                                 \
    {                                                                                              \
        .option = "--org", .label = "ORG", .kind = ARGUMENT_ORGANIZATION, .required = true         \
    }
#define ORG_POSITION                                                                               \
    {                                                                                              \
        .label = "ORG", .kind = ARGUMENT_ORGANIZATION, .required = true                            \
    }
#define NEEDED(name, what, member, type)                                                           \
    {                                                                                              \
        .option = (name), .label = (what), .field = (member), .kind = (type), .required = true     \
    }
#define OPTION(name, what, member, type)                                                           \
    {                                                                                              \
        .option = (name), .label = (what), .field = (member), .kind = (type)                       \
    }
#define POSITION(what, member, type)                                                               \
    {                                                                                              \
        .label = (what), .field = (member), .kind = (type), .required = true                       \
    }

/* clang-format off */
const struct convctl_call convctl_calls[] = {
    {"org", "create", SUBJECT_ACCESS_ORG_CREATE, CONVCTL_CHANGES, "create an organization; the default plan is starter",
     {NEEDED("--name", "NAME", "name", ARGUMENT_TEXT),
      OPTION("--plan", PLANS, "plan", ARGUMENT_CHOICE)}, 2},
    {"org", "get", SUBJECT_ACCESS_ORG_GET, CONVCTL_READS, "show an organization",
     {ORG_POSITION}, 1},
    {"org", "list", SUBJECT_ACCESS_ORG_LIST, CONVCTL_READS_PAGES, "list organizations, newest first",
     {{0}}, 0},
    {"org", "count", SUBJECT_ACCESS_ORG_COUNT, CONVCTL_READS, "count organizations, all of them or those on a plan",
     {OPTION("--plan", PLANS, "plan", ARGUMENT_CHOICE)}, 1},
    {"org", "set", SUBJECT_ACCESS_ORG_SET, CONVCTL_SETS,
     "change the plan, or the limit of requests per key in 10 seconds (default: RATE_LIMIT_DEFAULT)",
     {ORG_POSITION,
      OPTION("--plan", PLANS, "plan", ARGUMENT_CHOICE),
      OPTION("--rate-limit", "N|default", "rate_limit", ARGUMENT_COUNT_OR_DEFAULT)}, 3},

    {"key", "create", SUBJECT_ACCESS_KEY_CREATE, CONVCTL_CHANGES, "create an API key; its token is shown only once",
     {ORG_OPTION,
      NEEDED("--name", "NAME", "name", ARGUMENT_TEXT),
      NEEDED("--scope", "read|full", "scope", ARGUMENT_CHOICE),
      OPTION("--expires-in", "SECONDS", "expires_in", ARGUMENT_COUNT)}, 4},
    {"key", "list", SUBJECT_ACCESS_KEY_LIST, CONVCTL_READS_PAGES, "list API keys, newest first",
     {ORG_OPTION}, 1},
    {"key", "rotate", SUBJECT_ACCESS_KEY_ROTATE, CONVCTL_CHANGES,
     "rotate an API key; the new token is shown only once, and the old key expires after 24h by default",
     {ORG_OPTION,
      POSITION("KEY_ID", "id", ARGUMENT_UUID),
      OPTION("--overlap", "now|1h|24h|7d", "overlap", ARGUMENT_CHOICE)}, 3},
    {"key", "revoke", SUBJECT_ACCESS_KEY_REVOKE, CONVCTL_CHANGES, "revoke an API key",
     {ORG_OPTION, POSITION("KEY_ID", "id", ARGUMENT_UUID)}, 2},

    {"policy", "get", SUBJECT_ACCESS_POLICY_GET, CONVCTL_READS, "show the access policy",
     {ORG_OPTION}, 1},
    {"policy", "set", SUBJECT_ACCESS_POLICY_SET, CONVCTL_SETS,
     "change the access policy; --ip replaces the whole list, --no-ip empties it",
     {ORG_OPTION,
      OPTION("--require-https", "true|false", "require_https", ARGUMENT_BOOL),
      OPTION("--ip-allowlist-enabled", "true|false", "ip_allowlist_enabled", ARGUMENT_BOOL),
      {.option = "--ip", .label = "ADDRESS", .field = "ip_allowlist", .kind = ARGUMENT_TEXT,
       .repeated = true},
      OPTION("--no-ip", NULL, "ip_allowlist", ARGUMENT_EMPTY)}, 5},

    {"webhook", "create", SUBJECT_WEBHOOK_ENDPOINT_CREATE, CONVCTL_CHANGES,
     "send events of one or several types to a URL; the secret is shown only once",
     {ORG_OPTION,
      NEEDED("--url", "URL", "url", ARGUMENT_TEXT),
      {.option = "--event", .label = "conversation.created|" EVENTS, .field = "events",
       .kind = ARGUMENT_TEXT, .required = true, .repeated = true},
      OPTION("--no-signing", NULL, "signing", ARGUMENT_OFF)}, 4},
    {"webhook", "list", SUBJECT_WEBHOOK_ENDPOINT_LIST, CONVCTL_READS_PAGES, "list endpoints and their health, newest first",
     {ORG_OPTION}, 1},
    {"webhook", "set", SUBJECT_WEBHOOK_ENDPOINT_SET, CONVCTL_CHANGES,
     "enable or disable an endpoint; while it is disabled, its events are skipped",
     {ORG_OPTION,
      POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
      NEEDED("--enabled", "true|false", "enabled", ARGUMENT_BOOL)}, 3},
    {"webhook", "delete", SUBJECT_WEBHOOK_ENDPOINT_DELETE, CONVCTL_CHANGES, "remove an endpoint and its secret",
     {ORG_OPTION, POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID)}, 2},
    {"webhook", "deliveries", SUBJECT_WEBHOOK_DELIVERIES, CONVCTL_READS_PART,
     "show what was sent to an endpoint in the last 30 days, newest first",
     {ORG_OPTION,
      POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
      OPTION("--limit", "N", "limit", ARGUMENT_COUNT)}, 3},
    {"webhook", "resend", SUBJECT_WEBHOOK_RESEND, CONVCTL_CHANGES, "resend the event of a delivery",
     {ORG_OPTION, POSITION("DELIVERY_ID", "id", ARGUMENT_UUID)}, 2},
    {"webhook", "resend-failed", SUBJECT_WEBHOOK_RESEND_FAILED, CONVCTL_CHANGES,
     "resend every event since a time that an endpoint has not accepted",
     {ORG_OPTION,
      POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
      NEEDED("--since", "UNIX_SECONDS", "since", ARGUMENT_COUNT)}, 3},
    {"webhook", "test", SUBJECT_WEBHOOK_TEST, CONVCTL_CHANGES, "send a test event to an endpoint",
     {ORG_OPTION, POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID)}, 2},

    {"event", "publish", SUBJECT_WEBHOOK_PUBLISH, CONVCTL_CHANGES, "publish an event of an external system to webhooks",
     {ORG_OPTION,
      NEEDED("--type", EVENTS, "type", ARGUMENT_TEXT),
      NEEDED("--data", "JSON", "data", ARGUMENT_JSON)}, 3},

    {"conversation", "open", SUBJECT_CONVERSATION_OPEN, CONVCTL_CHANGES,
     "record a conversation of another channel (widget, email, slack, voice, ...)",
     {ORG_OPTION,
      NEEDED("--channel", "CHANNEL", "channel", ARGUMENT_TEXT),
      OPTION("--contact-external-id", "ID", "contact_external_id", ARGUMENT_TEXT),
      OPTION("--contact-email", "EMAIL", "contact_email", ARGUMENT_TEXT),
      OPTION("--status", "STATUS", "status", ARGUMENT_TEXT)}, 5},
    {"conversation", "append", SUBJECT_CONVERSATION_APPEND, CONVCTL_CHANGES, "record a message in a conversation",
     {ORG_OPTION,
      POSITION("ID", "id", ARGUMENT_UUID),
      OPTION("--body", "TEXT", "body", ARGUMENT_TEXT)}, 3},
    {"conversation", "set-status", SUBJECT_CONVERSATION_SET_STATUS, CONVCTL_CHANGES,
     "set the status to active, waiting, human_takeover, resolved or archived",
     {ORG_OPTION,
      POSITION("ID", "id", ARGUMENT_UUID),
      POSITION("STATUS", "status", ARGUMENT_TEXT)}, 3},
    {"conversation", "delete", SUBJECT_CONVERSATION_DELETE, CONVCTL_CHANGES, "delete a conversation",
     {ORG_OPTION, POSITION("ID", "id", ARGUMENT_UUID)}, 2},

    {"contact", "erase", SUBJECT_CONTACT_ERASE, CONVCTL_CHANGES, "erase a contact: its name, ids, email and phone",
     {ORG_OPTION, POSITION("CONTACT_ID", "id", ARGUMENT_UUID)}, 2},

    {"audit", "verify", SUBJECT_AUDIT_VERIFY, CONVCTL_READS_LAST,
     "verify the audit log against its seal, and against a stored head; count the findings by kind and "
     "name the first of each; --from begins at a block or after an entry",
     {ORG_OPTION,
      OPTION("--head-number", "N", "head_number", ARGUMENT_COUNT),
      OPTION("--head-hash", "HEX", "head_hash", ARGUMENT_TEXT),
      OPTION("--from", "BLOCK|ID[@MICROSECONDS]", "from", ARGUMENT_TEXT)}, 4},
    {"audit", "export", SUBJECT_AUDIT_EXPORT, CONVCTL_READS_LINES,
     "print the audit log, oldest first, one entry per line; --from continues after the entry with that id",
     {ORG_OPTION,
      OPTION("--after", "UNIX_SECONDS", "after", ARGUMENT_COUNT),
      OPTION("--before", "UNIX_SECONDS", "before", ARGUMENT_COUNT),
      OPTION("--from", "ID[@MICROSECONDS]", "from", ARGUMENT_TEXT)}, 4},
    {"audit", "changes", SUBJECT_AUDIT_CHANGES, CONVCTL_READS,
     "show what operators and the dashboard's users changed, newest first, page by page",
     {ORG_OPTION,
      OPTION("--per-page", "N", "per_page", ARGUMENT_COUNT),
      OPTION("--starting-after", "CURSOR", "starting_after", ARGUMENT_TEXT)}, 3},
    {"audit", "retain", SUBJECT_AUDIT_RETAIN, CONVCTL_CHANGES,
     "keep the audit log for at least so many months; can only be increased",
     {ORG_OPTION, NEEDED("--months", "N", "months", ARGUMENT_COUNT)}, 2},

    {"member", "list", SUBJECT_ACCESS_MEMBER_LIST, CONVCTL_READS_MEMBERS, "list the users of the dashboard, newest first",
     {ORG_OPTION}, 1},
    {"member", "invite", SUBJECT_ACCESS_MEMBER_INVITE, CONVCTL_CHANGES,
     "invite a user: DASHBOARD_URL/invitation#INVITATION, shown only once and valid for 72 hours",
     {ORG_OPTION,
      NEEDED("--email", "EMAIL", "email", ARGUMENT_TEXT),
      NEEDED("--role", "owner|admin|member", "role", ARGUMENT_CHOICE)}, 3},
    {"member", "set", SUBJECT_ACCESS_MEMBER_SET, CONVCTL_CHANGES, "change the role of a user",
     {ORG_OPTION,
      POSITION("USER_ID", "id", ARGUMENT_UUID),
      NEEDED("--role", "owner|admin|member", "role", ARGUMENT_CHOICE)}, 3},
    {"member", "remove", SUBJECT_ACCESS_MEMBER_REMOVE, CONVCTL_CHANGES, "remove a user and end all their sessions",
     {ORG_OPTION, POSITION("USER_ID", "id", ARGUMENT_UUID)}, 2},
    {"user", "create", SUBJECT_SESSION_USER_CREATE, CONVCTL_CHANGES,
     "create a user of the dashboard; the password is shown only once, or is read from standard input",
     {ORG_OPTION,
      NEEDED("--email", "EMAIL", "email", ARGUMENT_TEXT),
      NEEDED("--role", "owner|admin|member", "role", ARGUMENT_CHOICE),
      {.option = "--password-stdin", .field = "password", .kind = ARGUMENT_STDIN}}, 4},

    {"service", "list", LIST_SERVICES_SUBJECT, CONVCTL_READS_SERVICES, "list the running processes of the services",
     {{0}}, 0},
};
/* clang-format on */
const size_t convctl_calls_count = ARRAY_SIZE(convctl_calls);

const struct convctl_call *convctl_call_find(const char *group, const char *verb)
{
    for (size_t i = 0; i < convctl_calls_count; i++) {
        if (strcmp(convctl_calls[i].group, group) == 0 && strcmp(convctl_calls[i].verb, verb) == 0)
            return &convctl_calls[i];
    }
    return NULL;
}

bool convctl_call_has_group(const char *group)
{
    for (size_t i = 0; i < convctl_calls_count; i++) {
        if (strcmp(convctl_calls[i].group, group) == 0)
            return true;
    }
    return false;
}
