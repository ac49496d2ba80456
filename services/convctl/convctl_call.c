#include "services/convctl/convctl_call.h"

#include <string.h>

#include "proto/subject.h"
#include "services/convctl/bus_client.h"
#include "services/convctl/cell_move.h"

#define EVENTS "ticket.created|ticket.resolved|ai.handoff"
#define PLANS  "free|starter|growth|enterprise"

/* The organization, as an option or as a positional argument. */
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
    {.group = "org", .verb = "create", .subject = SUBJECT_ACCESS_ORG_CREATE, .kind = CONVCTL_CHANGES,
     .meaning = "create an organization; the default plan is starter, the default cell the first one",
     .arguments = {NEEDED("--name", "NAME", "name", ARGUMENT_TEXT),
                   OPTION("--plan", PLANS, "plan", ARGUMENT_CHOICE),
                   OPTION("--cell", "NAME", "cell", ARGUMENT_TEXT)}},
    {.group = "org", .verb = "get", .subject = SUBJECT_ACCESS_ORG_GET, .kind = CONVCTL_READS,
     .meaning = "show an organization",
     .arguments = {ORG_POSITION}},
    {.group = "org", .verb = "list", .subject = SUBJECT_ACCESS_ORG_LIST, .kind = CONVCTL_READS_PAGES,
     .meaning = "list organizations, newest first"},
    {.group = "org", .verb = "count", .subject = SUBJECT_ACCESS_ORG_COUNT, .kind = CONVCTL_READS,
     .meaning = "count organizations, all of them or those on a plan",
     .arguments = {OPTION("--plan", PLANS, "plan", ARGUMENT_CHOICE)}},
    {.group = "org", .verb = "set", .subject = SUBJECT_ACCESS_ORG_SET, .kind = CONVCTL_SETS,
     .meaning = "change the plan, or the limit of requests per key in 10 seconds (default: RATE_LIMIT_DEFAULT)",
     .arguments = {ORG_POSITION,
                   OPTION("--plan", PLANS, "plan", ARGUMENT_CHOICE),
                   OPTION("--rate-limit", "N|default", "rate_limit", ARGUMENT_COUNT_OR_DEFAULT)}},

    {.group = "cell", .verb = "list", .subject = SUBJECT_ACCESS_CELL_LIST, .kind = CONVCTL_READS,
     .meaning = "list the cells, the number of organizations in each, and the moves out of it"},
    {.group = "cell", .verb = "move", .subject = CELL_MOVE_SUBJECT, .kind = CONVCTL_MOVES,
     .meaning = "move an organization to another cell while it is served; repeat an interrupted call to resume it",
     .arguments = {ORG_POSITION,
                   OPTION("--to", "CELL", "to", ARGUMENT_TEXT),
                   OPTION("--grace", "SECONDS", "grace", ARGUMENT_COUNT),
                   OPTION("--give-up", "SECONDS", "give_up", ARGUMENT_COUNT),
                   OPTION("--abort", NULL, "abort", ARGUMENT_OFF),
                   OPTION("--unchecked", NULL, "unchecked", ARGUMENT_OFF)}},

    {.group = "key", .verb = "create", .subject = SUBJECT_ACCESS_KEY_CREATE, .kind = CONVCTL_CHANGES,
     .meaning = "create an API key; its token is shown only once",
     .arguments = {ORG_OPTION,
                   NEEDED("--name", "NAME", "name", ARGUMENT_TEXT),
                   NEEDED("--scope", "read|full", "scope", ARGUMENT_CHOICE),
                   OPTION("--expires-in", "SECONDS", "expires_in", ARGUMENT_COUNT)}},
    {.group = "key", .verb = "list", .subject = SUBJECT_ACCESS_KEY_LIST, .kind = CONVCTL_READS_PAGES,
     .meaning = "list API keys, newest first",
     .arguments = {ORG_OPTION}},
    {.group = "key", .verb = "rotate", .subject = SUBJECT_ACCESS_KEY_ROTATE, .kind = CONVCTL_CHANGES,
     .meaning = "rotate an API key; the new token is shown only once, and the old key expires after 24h by default",
     .arguments = {ORG_OPTION,
                   POSITION("KEY_ID", "id", ARGUMENT_UUID),
                   OPTION("--overlap", "now|1h|24h|7d", "overlap", ARGUMENT_CHOICE)}},
    {.group = "key", .verb = "revoke", .subject = SUBJECT_ACCESS_KEY_REVOKE, .kind = CONVCTL_CHANGES,
     .meaning = "revoke an API key",
     .arguments = {ORG_OPTION, POSITION("KEY_ID", "id", ARGUMENT_UUID)}},

    {.group = "policy", .verb = "get", .subject = SUBJECT_ACCESS_POLICY_GET, .kind = CONVCTL_READS,
     .meaning = "show the access policy",
     .arguments = {ORG_OPTION}},
    {.group = "policy", .verb = "set", .subject = SUBJECT_ACCESS_POLICY_SET, .kind = CONVCTL_SETS,
     .meaning = "change the access policy; --ip replaces the whole list, --no-ip empties it",
     .arguments = {ORG_OPTION,
                   OPTION("--require-https", "true|false", "require_https", ARGUMENT_BOOL),
                   OPTION("--ip-allowlist-enabled", "true|false", "ip_allowlist_enabled", ARGUMENT_BOOL),
                   {.option = "--ip", .label = "ADDRESS", .field = "ip_allowlist", .kind = ARGUMENT_TEXT,
                    .repeated = true},
                   OPTION("--no-ip", NULL, "ip_allowlist", ARGUMENT_EMPTY)}},

    {.group = "webhook", .verb = "create", .subject = SUBJECT_WEBHOOK_ENDPOINT_CREATE, .kind = CONVCTL_CHANGES,
     .meaning = "send events of one or several types to a URL; the secret is shown only once",
     .arguments = {ORG_OPTION,
                   NEEDED("--url", "URL", "url", ARGUMENT_TEXT),
                   {.option = "--event", .label = "conversation.created|" EVENTS, .field = "events",
                    .kind = ARGUMENT_TEXT, .required = true, .repeated = true},
                   OPTION("--no-signing", NULL, "signing", ARGUMENT_OFF),
                   OPTION("--retries", "none|standard", "retries", ARGUMENT_CHOICE)}},
    {.group = "webhook", .verb = "list", .subject = SUBJECT_WEBHOOK_ENDPOINT_LIST, .kind = CONVCTL_READS_PAGES,
     .meaning = "list endpoints and their health, newest first",
     .arguments = {ORG_OPTION}},
    {.group = "webhook", .verb = "set", .subject = SUBJECT_WEBHOOK_ENDPOINT_SET, .kind = CONVCTL_SETS,
     .meaning = "enable or disable an endpoint (its events are skipped while it is disabled), or choose whether "
                "failures are retried",
     .arguments = {ORG_OPTION,
                   POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
                   OPTION("--enabled", "true|false", "enabled", ARGUMENT_BOOL),
                   OPTION("--retries", "none|standard", "retries", ARGUMENT_CHOICE)}},
    {.group = "webhook", .verb = "rotate-secret", .subject = SUBJECT_WEBHOOK_ENDPOINT_ROTATE_SECRET, .kind = CONVCTL_CHANGES,
     .meaning = "change an endpoint's secret: begin shows the next one, only once; finish signs with it; cancel drops it",
     .arguments = {ORG_OPTION,
                   POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
                   POSITION("begin|finish|cancel", "step", ARGUMENT_CHOICE)}},
    {.group = "webhook", .verb = "delete", .subject = SUBJECT_WEBHOOK_ENDPOINT_DELETE, .kind = CONVCTL_CHANGES,
     .meaning = "remove an endpoint and its secret",
     .arguments = {ORG_OPTION, POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID)}},
    {.group = "webhook", .verb = "deliveries", .subject = SUBJECT_WEBHOOK_DELIVERIES, .kind = CONVCTL_READS_PART,
     .meaning = "show what was sent to an endpoint in the last 30 days, newest first",
     .arguments = {ORG_OPTION,
                   POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
                   OPTION("--limit", "N", "limit", ARGUMENT_COUNT)}},
    {.group = "webhook", .verb = "resend", .subject = SUBJECT_WEBHOOK_RESEND, .kind = CONVCTL_CHANGES,
     .meaning = "resend the event of a delivery",
     .arguments = {ORG_OPTION, POSITION("DELIVERY_ID", "id", ARGUMENT_UUID)}},
    {.group = "webhook", .verb = "resend-failed", .subject = SUBJECT_WEBHOOK_RESEND_FAILED, .kind = CONVCTL_CHANGES,
     .meaning = "resend every event since a time that an endpoint has not accepted",
     .arguments = {ORG_OPTION,
                   POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
                   NEEDED("--since", "UNIX_SECONDS", "since", ARGUMENT_COUNT)}},
    {.group = "webhook", .verb = "test", .subject = SUBJECT_WEBHOOK_TEST, .kind = CONVCTL_CHANGES,
     .meaning = "send a test event to an endpoint",
     .arguments = {ORG_OPTION, POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID)}},

    {.group = "event", .verb = "publish", .subject = SUBJECT_WEBHOOK_PUBLISH, .kind = CONVCTL_CHANGES,
     .meaning = "publish an event of an external system to webhooks",
     .arguments = {ORG_OPTION,
                   NEEDED("--type", EVENTS, "type", ARGUMENT_TEXT),
                   NEEDED("--data", "JSON", "data", ARGUMENT_JSON)}},

    {.group = "conversation", .verb = "open", .subject = SUBJECT_CONVERSATION_OPEN, .kind = CONVCTL_CHANGES,
     .meaning = "record a conversation of another channel (widget, email, slack, voice, ...)",
     .arguments = {ORG_OPTION,
                   NEEDED("--channel", "CHANNEL", "channel", ARGUMENT_TEXT),
                   OPTION("--contact-external-id", "ID", "contact_external_id", ARGUMENT_TEXT),
                   OPTION("--contact-email", "EMAIL", "contact_email", ARGUMENT_TEXT),
                   OPTION("--status", "STATUS", "status", ARGUMENT_TEXT)}},
    {.group = "conversation", .verb = "append", .subject = SUBJECT_CONVERSATION_APPEND, .kind = CONVCTL_CHANGES,
     .meaning = "record a message in a conversation",
     .arguments = {ORG_OPTION,
                   POSITION("ID", "id", ARGUMENT_UUID),
                   OPTION("--body", "TEXT", "body", ARGUMENT_TEXT)}},
    {.group = "conversation", .verb = "set-status", .subject = SUBJECT_CONVERSATION_SET_STATUS, .kind = CONVCTL_CHANGES,
     .meaning = "set the status to active, waiting, human_takeover, resolved or archived",
     .arguments = {ORG_OPTION,
                   POSITION("ID", "id", ARGUMENT_UUID),
                   POSITION("STATUS", "status", ARGUMENT_TEXT)}},
    {.group = "conversation", .verb = "delete", .subject = SUBJECT_CONVERSATION_DELETE, .kind = CONVCTL_CHANGES,
     .meaning = "delete a conversation",
     .arguments = {ORG_OPTION, POSITION("ID", "id", ARGUMENT_UUID)}},

    {.group = "contact", .verb = "erase", .subject = SUBJECT_CONTACT_ERASE, .kind = CONVCTL_CHANGES,
     .meaning = "erase a contact: its name, ids, email and phone",
     .arguments = {ORG_OPTION, POSITION("CONTACT_ID", "id", ARGUMENT_UUID)}},

    {.group = "audit", .verb = "verify", .subject = SUBJECT_AUDIT_VERIFY, .kind = CONVCTL_READS_LAST,
     .meaning = "verify the audit log against its seal, and against a stored head; count the findings by kind and "
                "name the first of each; --from begins at a block or after an entry",
     .arguments = {ORG_OPTION,
                   OPTION("--head-number", "N", "head_number", ARGUMENT_COUNT),
                   OPTION("--head-hash", "HEX", "head_hash", ARGUMENT_TEXT),
                   OPTION("--from", "BLOCK|ID[@MICROSECONDS]", "from", ARGUMENT_TEXT)}},
    {.group = "audit", .verb = "export", .subject = SUBJECT_AUDIT_EXPORT, .kind = CONVCTL_READS_LINES,
     .meaning = "print the audit log, oldest first, one entry per line; --from continues after the entry with that id",
     .arguments = {ORG_OPTION,
                   OPTION("--after", "UNIX_SECONDS", "after", ARGUMENT_COUNT),
                   OPTION("--before", "UNIX_SECONDS", "before", ARGUMENT_COUNT),
                   OPTION("--from", "ID[@MICROSECONDS]", "from", ARGUMENT_TEXT)}},
    {.group = "audit", .verb = "changes", .subject = SUBJECT_AUDIT_CHANGES, .kind = CONVCTL_READS,
     .meaning = "show what operators and the dashboard's users changed, newest first, page by page",
     .arguments = {ORG_OPTION,
                   OPTION("--change", "NAME", "change", ARGUMENT_TEXT),
                   OPTION("--who", "EMAIL|operator", "who", ARGUMENT_TEXT),
                   OPTION("--per-page", "N", "per_page", ARGUMENT_COUNT),
                   OPTION("--starting-after", "CURSOR", "starting_after", ARGUMENT_TEXT)}},
    {.group = "audit", .verb = "retain", .subject = SUBJECT_AUDIT_RETAIN, .kind = CONVCTL_CHANGES,
     .meaning = "keep the audit log for at least this many months; can only be increased",
     .arguments = {ORG_OPTION, NEEDED("--months", "N", "months", ARGUMENT_COUNT)}},

    {.group = "member", .verb = "list", .subject = SUBJECT_ACCESS_MEMBER_LIST, .kind = CONVCTL_READS_MEMBERS,
     .meaning = "list the users of the dashboard, newest first",
     .arguments = {ORG_OPTION}},
    {.group = "member", .verb = "invite", .subject = SUBJECT_ACCESS_MEMBER_INVITE, .kind = CONVCTL_CHANGES,
     .meaning = "invite a user: DASHBOARD_URL/invitation#INVITATION, shown only once and valid for 72 hours",
     .arguments = {ORG_OPTION,
                   NEEDED("--email", "EMAIL", "email", ARGUMENT_TEXT),
                   NEEDED("--role", "owner|admin|member", "role", ARGUMENT_CHOICE)}},
    {.group = "member", .verb = "set", .subject = SUBJECT_ACCESS_MEMBER_SET, .kind = CONVCTL_CHANGES,
     .meaning = "change the role of a user",
     .arguments = {ORG_OPTION,
                   POSITION("USER_ID", "id", ARGUMENT_UUID),
                   NEEDED("--role", "owner|admin|member", "role", ARGUMENT_CHOICE)}},
    {.group = "member", .verb = "remove", .subject = SUBJECT_ACCESS_MEMBER_REMOVE, .kind = CONVCTL_CHANGES,
     .meaning = "remove a user and end all their sessions",
     .arguments = {ORG_OPTION, POSITION("USER_ID", "id", ARGUMENT_UUID)}},
    {.group = "user", .verb = "create", .subject = SUBJECT_SESSION_USER_CREATE, .kind = CONVCTL_CHANGES,
     .meaning = "create a user of the dashboard; the password is shown only once, or is read from standard input",
     .arguments = {ORG_OPTION,
                   NEEDED("--email", "EMAIL", "email", ARGUMENT_TEXT),
                   NEEDED("--role", "owner|admin|member", "role", ARGUMENT_CHOICE),
                   {.option = "--password-stdin", .field = "password", .kind = ARGUMENT_STDIN}}},

    {.group = "service", .verb = "list", .subject = LIST_SERVICES_SUBJECT, .kind = CONVCTL_READS_SERVICES,
     .meaning = "list the running processes of the services"},
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
