#include "services/convctl/call.h"

#include <string.h>

#include "proto/subject.h"
#include "services/convctl/roll_call.h"

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
const struct call calls[] = {
    {"org", "create", SUBJECT_ACCESS_ORG_CREATE, CALL_CHANGES, "make an organization, on the plan starter unless told otherwise",
     {NEEDED("--name", "NAME", "name", ARGUMENT_TEXT),
      OPTION("--plan", PLANS, "plan", ARGUMENT_CHOICE)}, 2},
    {"org", "get", SUBJECT_ACCESS_ORG_GET, CALL_READS, "show an organization",
     {ORG_POSITION}, 1},
    {"org", "list", SUBJECT_ACCESS_ORG_LIST, CALL_READS_PAGES, "list organizations, newest first",
     {{0}}, 0},
    {"org", "count", SUBJECT_ACCESS_ORG_COUNT, CALL_READS, "count organizations, all of them or those on a plan",
     {OPTION("--plan", PLANS, "plan", ARGUMENT_CHOICE)}, 1},
    {"org", "set", SUBJECT_ACCESS_ORG_SET, CALL_SETS,
     "change the plan, or the requests per window of 10 seconds and key (the default: RATE_LIMIT_DEFAULT)",
     {ORG_POSITION,
      OPTION("--plan", PLANS, "plan", ARGUMENT_CHOICE),
      OPTION("--rate-limit", "N|default", "rate_limit", ARGUMENT_COUNT_OR_DEFAULT)}, 3},

    {"key", "create", SUBJECT_ACCESS_KEY_CREATE, CALL_CHANGES, "make an API key; its token is shown this once",
     {ORG_OPTION,
      NEEDED("--name", "NAME", "name", ARGUMENT_TEXT),
      NEEDED("--scope", "read|full", "scope", ARGUMENT_CHOICE),
      OPTION("--expires-in", "SECONDS", "expires_in", ARGUMENT_COUNT)}, 4},
    {"key", "list", SUBJECT_ACCESS_KEY_LIST, CALL_READS_PAGES, "list API keys, newest first",
     {ORG_OPTION}, 1},
    {"key", "rotate", SUBJECT_ACCESS_KEY_ROTATE, CALL_CHANGES,
     "make its successor, whose token is shown this once, and end it after 24h unless told otherwise",
     {ORG_OPTION,
      POSITION("KEY_ID", "id", ARGUMENT_UUID),
      OPTION("--overlap", "now|1h|24h|7d", "overlap", ARGUMENT_CHOICE)}, 3},
    {"key", "revoke", SUBJECT_ACCESS_KEY_REVOKE, CALL_CHANGES, "end an API key, now and for good",
     {ORG_OPTION, POSITION("KEY_ID", "id", ARGUMENT_UUID)}, 2},

    {"policy", "get", SUBJECT_ACCESS_POLICY_GET, CALL_READS, "show what is demanded of requests",
     {ORG_OPTION}, 1},
    {"policy", "set", SUBJECT_ACCESS_POLICY_SET, CALL_SETS,
     "change it; --ip given at all replaces the whole list, --no-ip empties it",
     {ORG_OPTION,
      OPTION("--require-https", "true|false", "require_https", ARGUMENT_BOOL),
      OPTION("--ip-allowlist-enabled", "true|false", "ip_allowlist_enabled", ARGUMENT_BOOL),
      {.option = "--ip", .label = "ADDRESS", .field = "ip_allowlist", .kind = ARGUMENT_TEXT,
       .repeated = true},
      OPTION("--no-ip", NULL, "ip_allowlist", ARGUMENT_EMPTY)}, 5},

    {"webhook", "create", SUBJECT_WEBHOOK_ENDPOINT_CREATE, CALL_CHANGES,
     "send events of one or several types to a URL; its secret is shown this once",
     {ORG_OPTION,
      NEEDED("--url", "URL", "url", ARGUMENT_TEXT),
      {.option = "--event", .label = "conversation.created|" EVENTS, .field = "events",
       .kind = ARGUMENT_TEXT, .required = true, .repeated = true},
      OPTION("--no-signing", NULL, "signing", ARGUMENT_OFF)}, 4},
    {"webhook", "list", SUBJECT_WEBHOOK_ENDPOINT_LIST, CALL_READS_PAGES, "list endpoints and their health, newest first",
     {ORG_OPTION}, 1},
    {"webhook", "set", SUBJECT_WEBHOOK_ENDPOINT_SET, CALL_CHANGES,
     "enable or disable an endpoint; its events are kept as skipped meanwhile",
     {ORG_OPTION,
      POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
      NEEDED("--enabled", "true|false", "enabled", ARGUMENT_BOOL)}, 3},
    {"webhook", "delete", SUBJECT_WEBHOOK_ENDPOINT_DELETE, CALL_CHANGES, "remove an endpoint and its secret",
     {ORG_OPTION, POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID)}, 2},
    {"webhook", "deliveries", SUBJECT_WEBHOOK_DELIVERIES, CALL_READS_PART,
     "show what was sent to an endpoint in the last 30 days, newest first",
     {ORG_OPTION,
      POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
      OPTION("--limit", "N", "limit", ARGUMENT_COUNT)}, 3},
    {"webhook", "resend", SUBJECT_WEBHOOK_RESEND, CALL_CHANGES, "send the event of a delivery once more",
     {ORG_OPTION, POSITION("DELIVERY_ID", "id", ARGUMENT_UUID)}, 2},
    {"webhook", "resend-failed", SUBJECT_WEBHOOK_RESEND_FAILED, CALL_CHANGES,
     "send every event once more that an endpoint has not accepted since a time",
     {ORG_OPTION,
      POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID),
      NEEDED("--since", "UNIX_SECONDS", "since", ARGUMENT_COUNT)}, 3},
    {"webhook", "test", SUBJECT_WEBHOOK_TEST, CALL_CHANGES, "send a test event to an endpoint",
     {ORG_OPTION, POSITION("ENDPOINT_ID", "id", ARGUMENT_UUID)}, 2},

    {"event", "publish", SUBJECT_WEBHOOK_PUBLISH, CALL_CHANGES, "hand in an event of another system for webhooks",
     {ORG_OPTION,
      NEEDED("--type", EVENTS, "type", ARGUMENT_TEXT),
      NEEDED("--data", "JSON", "data", ARGUMENT_JSON)}, 3},

    {"conversation", "open", SUBJECT_CONVERSATION_OPEN, CALL_CHANGES,
     "record a conversation of another channel (widget, email, slack, voice, ...)",
     {ORG_OPTION,
      NEEDED("--channel", "CHANNEL", "channel", ARGUMENT_TEXT),
      OPTION("--contact-external-id", "ID", "contact_external_id", ARGUMENT_TEXT),
      OPTION("--contact-email", "EMAIL", "contact_email", ARGUMENT_TEXT),
      OPTION("--status", "STATUS", "status", ARGUMENT_TEXT)}, 5},
    {"conversation", "append", SUBJECT_CONVERSATION_APPEND, CALL_CHANGES, "record one message more",
     {ORG_OPTION,
      POSITION("ID", "id", ARGUMENT_UUID),
      OPTION("--body", "TEXT", "body", ARGUMENT_TEXT)}, 3},
    {"conversation", "set-status", SUBJECT_CONVERSATION_SET_STATUS, CALL_CHANGES,
     "move it to active, waiting, human_takeover, resolved or archived",
     {ORG_OPTION,
      POSITION("ID", "id", ARGUMENT_UUID),
      POSITION("STATUS", "status", ARGUMENT_TEXT)}, 3},
    {"conversation", "delete", SUBJECT_CONVERSATION_DELETE, CALL_CHANGES, "delete a conversation",
     {ORG_OPTION, POSITION("ID", "id", ARGUMENT_UUID)}, 2},

    {"contact", "erase", SUBJECT_CONTACT_ERASE, CALL_CHANGES, "take name, ids, email and phone off a contact, for good",
     {ORG_OPTION, POSITION("CONTACT_ID", "id", ARGUMENT_UUID)}, 2},

    {"audit", "verify", SUBJECT_AUDIT_VERIFY, CALL_READS_LAST,
     "hold the trail against its seal, and against a head that was kept; name what is found first",
     {ORG_OPTION,
      OPTION("--head-number", "N", "head_number", ARGUMENT_COUNT),
      OPTION("--head-hash", "HEX", "head_hash", ARGUMENT_TEXT)}, 3},
    {"audit", "export", SUBJECT_AUDIT_EXPORT, CALL_READS_LINES,
     "print the trail, oldest first, an entry on a line; --from goes on behind the entry of that id",
     {ORG_OPTION,
      OPTION("--after", "UNIX_SECONDS", "after", ARGUMENT_COUNT),
      OPTION("--before", "UNIX_SECONDS", "before", ARGUMENT_COUNT),
      OPTION("--from", "ID", "from", ARGUMENT_UUID)}, 4},
    {"audit", "changes", SUBJECT_AUDIT_CHANGES, CALL_READS,
     "show what operators and the dashboard's users changed, newest first, page by page",
     {ORG_OPTION,
      OPTION("--per-page", "N", "per_page", ARGUMENT_COUNT),
      OPTION("--starting-after", "CURSOR", "starting_after", ARGUMENT_TEXT)}, 3},
    {"audit", "retain", SUBJECT_AUDIT_RETAIN, CALL_CHANGES,
     "keep the trail for so many months at least; can only be lengthened",
     {ORG_OPTION, NEEDED("--months", "N", "months", ARGUMENT_COUNT)}, 2},

    {"member", "list", SUBJECT_ACCESS_MEMBER_LIST, CALL_READS_MEMBERS, "list the users of the dashboard, newest first",
     {ORG_OPTION}, 1},
    {"member", "invite", SUBJECT_ACCESS_MEMBER_INVITE, CALL_CHANGES,
     "invite somebody: DASHBOARD_URL/invitation#INVITATION, shown this once and good for 72 hours",
     {ORG_OPTION,
      NEEDED("--email", "EMAIL", "email", ARGUMENT_TEXT),
      NEEDED("--role", "owner|admin|member", "role", ARGUMENT_CHOICE)}, 3},
    {"member", "set", SUBJECT_ACCESS_MEMBER_SET, CALL_CHANGES, "give somebody another role",
     {ORG_OPTION,
      POSITION("USER_ID", "id", ARGUMENT_UUID),
      NEEDED("--role", "owner|admin|member", "role", ARGUMENT_CHOICE)}, 3},
    {"member", "remove", SUBJECT_ACCESS_MEMBER_REMOVE, CALL_CHANGES, "remove somebody, sessions and all",
     {ORG_OPTION, POSITION("USER_ID", "id", ARGUMENT_UUID)}, 2},
    {"user", "create", SUBJECT_SESSION_USER_CREATE, CALL_CHANGES,
     "let somebody sign in to the dashboard; the password is shown this once, or is the line on standard input",
     {ORG_OPTION,
      NEEDED("--email", "EMAIL", "email", ARGUMENT_TEXT),
      NEEDED("--role", "owner|admin|member", "role", ARGUMENT_CHOICE),
      {.option = "--password-stdin", .field = "password", .kind = ARGUMENT_STDIN}}, 4},

    {"service", "list", ROLL_CALL, CALL_READS_ROLL, "list the processes of the services that are alive",
     {{0}}, 0},
};
/* clang-format on */
const size_t calls_count = sizeof(calls) / sizeof(calls[0]);

const struct call *call_find(const char *group, const char *verb)
{
    for (size_t i = 0; i < calls_count; i++) {
        if (strcmp(calls[i].group, group) == 0 && strcmp(calls[i].verb, verb) == 0)
            return &calls[i];
    }
    return NULL;
}

bool call_has_group(const char *group)
{
    for (size_t i = 0; i < calls_count; i++) {
        if (strcmp(calls[i].group, group) == 0)
            return true;
    }
    return false;
}
