/*
 * dialog - one HTTP request on its way to its answer.
 *
 *     a path of a page or a file   the shell or the file, at once
 *     /data/...                    is it from our own pages, who is signed in (asked of access for
 *                                  each request), may they; then one command, or a stream of them
 *
 * What     Nothing is asked of a service before the request is known to come from a page of ours:
 *          Origin, X-CSRF-Token and Content-Type of whatever is no GET. Nothing but the session is
 *          asked before it is known whose it is.
 * Owns     Itself, as a visit does (common/edge/visit.h).
 * Threads  The loop's.
 *
 * dialog.c  begins, ends, and checks who asks
 * ask.c     puts the command together and passes its answer on
 * sign.c    begins, shows and ends sessions
 * export.c  streams the audit trail
 */
#ifndef DASHBOARD_DIALOG_H
#define DASHBOARD_DIALOG_H

#include "common/crypto/crypto.h"
#include "common/edge/visit.h"
#include "proto/outcome.h"
#include "services/dashboard/action.h"
#include "services/dashboard/lines.h"

#define DIALOGS_MOST 2048 /* requests at a time */

struct export;

struct dialog {
    struct visit visit; /* first: the two are one */
    struct lines lines;
    struct found found;
    struct str query; /* what follows the question mark, or STR_NONE */
    struct str token; /* the session's, or STR_NONE */
    char token_hash[2 * SHA256_BYTES + 1];
    struct identity who;
    struct bus_message *reply;
    const char *cookie; /* a Set-Cookie for the answer */
    json_t *view;       /* of the session, for the pages */
    struct export *export;
};

/* The handler of all requests. */
int dialog_begin(h2o_handler_t *handler, h2o_req_t *req);

/* From here on for these files only. */

/* Asks whose session it is; on_end is to call dialog_learn(). False: it cannot be asked now. */
MUST_CHECK bool dialog_check(struct dialog *dialog, call_fn on_end);
/* OUTCOME_OK: it is somebody's who may, in dialog->who. */
enum outcome dialog_learn(struct dialog *dialog, enum call_end end, struct bus_message *message);

/* Asks the command of the action, with the body that it takes; if that cannot be, answers why. */
void ask(struct dialog *dialog, call_fn on_end);
/* A command of our own. False: it cannot be asked now. */
MUST_CHECK bool ask_try(struct dialog *dialog, const char *subject, struct str body,
                        call_fn on_end);
/* The body of the action's command. NULL: the request has been answered. */
MUST_CHECK json_t *ask_body(struct dialog *dialog);
/* How the call has ended; keeps the message. *body is STR_NONE unless a service answered. */
enum outcome ask_outcome(struct dialog *dialog, enum call_end end, struct bus_message *message,
                         struct str *body);
/* Answers with what the service said. */
void ask_pass_on(struct dialog *dialog, enum outcome outcome, struct str body);

void sign_in(struct dialog *dialog);
void sign_show(struct dialog *dialog);
void sign_out(struct dialog *dialog);
/* hex SHA-256("csrf" || token) */
void sign_csrf(struct str token, char out[2 * SHA256_BYTES + 1]);

void export_begin(struct dialog *dialog);
void export_release(struct export *export);

#endif
