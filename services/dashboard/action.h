/*
 * action - what the pages may request under /data.
 *
 * What     An action is a method and a path with the command that they become, the lowest role that
 *          may use it, and what the dashboard adds to the command's body; action.def is the table.
 * Owns     Nothing; ids and values point into the request.
 * Threads  Any; every function is pure.
 */
#ifndef SERVICES_DASHBOARD_ACTION_H
#define SERVICES_DASHBOARD_ACTION_H

#include <stdbool.h>

#include "common/base/str.h"
#include "common/json/json.h"
#include "services/dashboard/identity.h"

/* -- paths ----------------------------------------------------------------------------------- */

/* Whether a path matches a pattern, byte by byte: nothing is decoded or normalized. A star in a
   pattern stands for an id: 1 to PATH_ID_MAX letters, digits, hyphens and underscores, like all our
   ids. *id, which points into the path, is STR_NONE if the pattern has no star. */
#define PATH_ID_MAX 64

bool path_matches(struct str path, const char *pattern, struct str *id);

/* -- actions --------------------------------------------------------------------------------- */

/* What the dashboard adds to a body. A body from a page that has one of these members is
   refused. */
enum fill {
    FILL_ID = 1 << 0,     /* id: from the path */
    FILL_USER = 1 << 1,   /* user_id: the session's user */
    FILL_TOKEN = 1 << 2,  /* token_hash: the session's */
    FILL_KEEP = 1 << 3,   /* keep: the same */
    FILL_ROLE = 1 << 4,   /* by_role: of the session's user */
    FILL_CALLER = 1 << 5, /* address, user_agent */
    FILL_EDITOR = 1 << 6, /* editor_address */
    FILL_RANGE = 1 << 7,  /* since, until, step: from the parameter `range` */
    HOLD_LIMIT = 1 << 8,  /* rate_limit: only operators may set it; nothing is added */
    HIDE_URL = 1 << 9,    /* members see only the host of each `url` in the reply */
};

enum action_kind {
    ACTION_PASS,       /* the service's reply is the response */
    ACTION_SIGN_IN,    /* starts a session; needs none */
    ACTION_SHOW,       /* the signed-in user, or none: the dashboard responds itself */
    ACTION_SERVICES,   /* the state of the services (deployment.h) */
    ACTION_SIGN_OUT,   /* ends this session */
    ACTION_EXPORT,     /* streamed, one entry per line */
    ACTION_EXPORT_CSV, /* streamed, as CSV */
};

enum action_body {
    BODY_NONE,   /* empty, or an object without members */
    BODY_FIELDS, /* an object, for the service to check */
    BODY_STEP,   /* {position?}: from the previous step; it becomes the command's whole body */
    BODY_SECRET, /* contains a password: wiped once sent */
};

struct action {
    const char *method;
    const char *path;
    const char *subject;
    enum role min; /* lowest role that may use it */
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
    char allow[64];              /* NO_METHOD: the value of the Allow header */
};

void action_find(struct str method, struct str path, struct action_match *out);

/* -- parameters ------------------------------------------------------------------------------ */

/* Turns the query of a request into members of a JSON object. Each action lists the parameters that
   it takes. Refused are: any other parameter, one given twice, a malformed escape, text that is not
   UTF-8, and an invalid number. Values are strings or integers; the service checks them. */
#define PARAMETERS_VALUE_MAX 1024 /* bytes, decoded */

struct parameter {
    const char *name; /* NULL ends a list */
    bool is_number;
};

/* Adds the parameters of `query` (STR_NONE: none) to `object`. False: `field` is the parameter at
   fault, shortened if it is long, with every character other than a letter or digit replaced. */
MUST_CHECK bool parameters_read(struct str query, const struct parameter *list, json_t *object,
                                char field[64]);

#endif
