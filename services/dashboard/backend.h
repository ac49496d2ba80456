/*
 * backend - what the pages may ask for under /data, and the commands that it becomes.
 *
 * What     An action is a method and a path, the command that it becomes, the least role that may,
 *          and what the dashboard adds to the command's body; the table is action.def. A call of
 *          one ends in an outcome and the service's answer.
 * Owns     Nothing; ids and values point into the request. The reply is the request's.
 * Threads  The loop's. What does not take a request is pure.
 */
#ifndef SERVICES_DASHBOARD_BACKEND_H
#define SERVICES_DASHBOARD_BACKEND_H

#include <stdbool.h>

#include "common/base/str.h"
#include "common/http/calls.h"
#include "common/json/json.h"
#include "proto/outcome.h"
#include "services/dashboard/dashboard_session.h"

struct dashboard_request;

/* -- paths ----------------------------------------------------------------------------------- */

/* Whether a path fits a pattern, byte by byte: nothing is decoded or normalized. A star in a
   pattern stands for an id: 1 to PATH_ID_MAX letters, digits, hyphens and underscores, as all our
   ids are. *id, which points into the path, is STR_NONE when the pattern has no star. */
#define PATH_ID_MAX 64

bool path_matches(struct str path, const char *pattern, struct str *id);

/* -- actions --------------------------------------------------------------------------------- */

/* What the dashboard adds to a body. The pages may not: a body that has one of these is refused. */
enum fill {
    FILL_ID = 1 << 0,     /* id: that in the path */
    FILL_USER = 1 << 1,   /* user_id: the session's user */
    FILL_TOKEN = 1 << 2,  /* token_hash: of the session */
    FILL_KEEP = 1 << 3,   /* keep: the same */
    FILL_ROLE = 1 << 4,   /* by_role: of the session's user */
    FILL_CALLER = 1 << 5, /* address, user_agent */
    FILL_EDITOR = 1 << 6, /* editor_address */
    FILL_RANGE = 1 << 7,  /* since, until, step: from the parameter `range` */
    HOLD_LIMIT = 1 << 8,  /* rate_limit: is for operators to set, nothing is added */
    HIDE_URL = 1 << 9,    /* of each `url` in the answer members see the host alone */
};

enum action_kind {
    ACTION_PASS,       /* the service's answer is the page's */
    ACTION_SIGN_IN,    /* a session begins; none is needed */
    ACTION_SHOW,       /* the signed-in user, or nobody: answered by the dashboard itself */
    ACTION_SERVICES,   /* the state of the services (deployment.h) */
    ACTION_SIGN_OUT,   /* this session ends */
    ACTION_EXPORT,     /* streamed, an entry a line */
    ACTION_EXPORT_CSV, /* streamed, as a table */
};

enum action_body {
    BODY_NONE,   /* empty, or an object without members */
    BODY_FIELDS, /* an object, for the service to check */
    BODY_STEP,   /* {position?}: that of the step before, which is the command's whole body */
    BODY_SECRET, /* with a password in it: wiped when it has been sent */
};

struct action {
    const char *method;
    const char *path;
    const char *subject;
    enum role min; /* who may */
    enum action_kind kind;
    enum action_body body;
    unsigned fills;
    const struct parameter *query;
};

enum action_end { ACTION_FOUND, ACTION_NO_METHOD, ACTION_UNKNOWN };

struct action_match {
    enum action_end end;
    const struct action *action; /* FOUND */
    struct str id;               /* in the path, or STR_NONE */
    char allow[64];              /* NO_METHOD: what Allow lists */
};

void action_find(struct str method, struct str path, struct action_match *out);

/* -- parameters ------------------------------------------------------------------------------ */

/* The query of a request as members of a JSON object. Each action lists what it takes; anything
   else, a parameter given twice, a malformed escape, text that is not UTF-8 or an invalid number is
   refused. Values are strings or integers for the service, which checks them. */
#define PARAMETERS_VALUE_MAX 1024 /* bytes, decoded */

struct parameter {
    const char *name; /* NULL ends a list */
    bool is_number;
};

/* Adds to `object` what `query` (STR_NONE: none) holds. False: `field` is the parameter at fault,
   cut if it is long, and of UTF-8 letters and digits only. */
MUST_CHECK bool parameters_read(struct str query, const struct parameter *list, json_t *object,
                                char field[64]);

/* -- calls ----------------------------------------------------------------------------------- */

/* Asks the command of the action, with the body that it takes; if that cannot be, answers why. */
void backend_call_action(struct dashboard_request *request, call_fn on_end);
/* A command of our own. False: it cannot be asked now. */
MUST_CHECK bool backend_call(struct dashboard_request *request, const char *subject,
                             struct str body, call_fn on_end);
/* The call that is under way ends as one that is late. False: none is. */
bool backend_give_up(struct dashboard_request *request);
/* The body of the action's command. NULL: the request has been answered. */
MUST_CHECK json_t *backend_body(struct dashboard_request *request);
/* How the call has ended; keeps the message. *body is STR_NONE unless a service answered. */
enum outcome backend_outcome(struct dashboard_request *request, enum call_end end,
                             struct bus_message *message, struct str *body);
/* Answers with what the service said. */
void backend_pass_on(struct dashboard_request *request, enum outcome outcome, struct str body);

#endif
