#include "services/dashboard/dialog.h"

#include "common/base/log.h"
#include "common/edge/media.h"
#include "proto/subject.h"
#include "services/dashboard/cookie.h"
#include "services/dashboard/dashboard_meter.h"
#include "services/dashboard/origin.h"
#include "services/dashboard/respond.h"

/* -- who asks -------------------------------------------------------------------------------- */

static void pass_on(void *owner, enum call_end end, struct bus_message *message)
{
    struct dialog *dialog = owner;
    struct str body;
    enum outcome outcome = ask_outcome(dialog, end, message, &body);

    ask_pass_on(dialog, outcome, body);
}

static void perform(struct dialog *dialog)
{
    switch (dialog->found.action->kind) {
    case ACTION_PASS:
        ask(dialog, pass_on);
        return;
    case ACTION_SIGN_IN:
        sign_in(dialog);
        return;
    case ACTION_SHOW:
        sign_show(dialog);
        return;
    case ACTION_SIGN_OUT:
        sign_out(dialog);
        return;
    case ACTION_EXPORT:
    case ACTION_EXPORT_CSV:
        export_begin(dialog);
        return;
    }
}

enum outcome dialog_learn(struct dialog *dialog, enum call_end end, struct bus_message *message)
{
    struct str body;
    enum outcome outcome = ask_outcome(dialog, end, message, &body);
    struct identity who;

    if (outcome == OUTCOME_UNAUTHORIZED)
        return outcome;
    if (outcome != OUTCOME_OK || !identity_read(body, &who))
        return OUTCOME_UNAVAILABLE;
    identity_release(&dialog->who);
    dialog->who = who;
    if (dialog->visit.span.context.is_sampled)
        (void)uuid_parse(str_of(who.organization_id), &dialog->visit.span.organization_id);
    return who.role < dialog->found.action->least ? OUTCOME_INSUFFICIENT_ROLE : OUTCOME_OK;
}

static void on_checked(void *owner, enum call_end end, struct bus_message *message)
{
    struct dialog *dialog = owner;
    enum outcome outcome = dialog_learn(dialog, end, message);

    if (outcome == OUTCOME_OK)
        perform(dialog);
    else
        respond_refusal(&dialog->visit, outcome, NULL);
}

bool dialog_check(struct dialog *dialog, call_fn on_end)
{
    char body[2 * SHA256_BYTES + 24];
    int n = snprintf(body, sizeof(body), "{\"token_hash\":\"%s\"}", dialog->token_hash);

    return ask_try(dialog, SUBJECT_ACCESS_SESSION_CHECK, (struct str){body, (size_t)n}, on_end);
}

/* -- is it from our own pages ---------------------------------------------------------------- */

/* A browser sends an Origin with whatever is no GET, and with a GET that another site's script
   makes for itself. */
static bool is_foreign(const struct dialog *dialog, bool is_change)
{
    const struct lines *lines = &dialog->lines;
    const h2o_iovec_t *host = &dialog->visit.req->input.authority;

    if (lines->fetch_site.n > 1 || origin_is_foreign(lines->fetch_site.value))
        return true;
    if (lines->origin.n == 0)
        return is_change;
    return lines->origin.n > 1 || !origin_is_own(lines->origin.value, dialog->visit.is_https,
                                                 (struct str){host->base, host->len});
}

static bool has_csrf_token(const struct dialog *dialog)
{
    const struct line *given = &dialog->lines.csrf;
    char wanted[2 * SHA256_BYTES + 1];

    sign_csrf(dialog->token, wanted);
    return given->n == 1 && given->value.n == sizeof(wanted) - 1 &&
           crypto_equal(given->value.p, wanted, sizeof(wanted) - 1);
}

/* OUTCOME_OK: nothing speaks against asking whose session it is, or for a sign-in of beginning one.
 */
static enum outcome judge(const struct dialog *dialog)
{
    const struct action *action = dialog->found.action;
    const struct line *type = &dialog->lines.content_type;
    bool is_change = !str_equal(str_of(action->method), STR("GET"));

    if (is_foreign(dialog, is_change))
        return OUTCOME_FORBIDDEN_ORIGIN;
    if (is_change && (type->n != 1 || !media_is_json(type->value)))
        return OUTCOME_UNSUPPORTED_MEDIA;
    if (action->kind == ACTION_SIGN_IN)
        return OUTCOME_OK;
    if (dialog->token.p == NULL)
        return OUTCOME_UNAUTHORIZED;
    return is_change && !has_csrf_token(dialog) ? OUTCOME_INVALID_CSRF_TOKEN : OUTCOME_OK;
}

static void note_foreign(const struct dialog *dialog, enum outcome outcome)
{
    char client[ADDRESS_TEXT];

    if (outcome != OUTCOME_FORBIDDEN_ORIGIN && outcome != OUTCOME_INVALID_CSRF_TOKEN)
        return;
    address_format(&dialog->visit.client, client);
    metric_add(dashboard_meter.foreign, 1);
    LOG(LOG_INFO, "request that no page of ours has made", log_str("request_id", dialog->visit.id),
        log_trace(str_of(dialog->visit.traceparent)), log_str("reason", outcome_code(outcome)),
        log_str("client", client));
}

static void read_token(struct dialog *dialog)
{
    uint8_t digest[SHA256_BYTES];

    dialog->token =
        cookie_token(dialog->lines.cookies, dialog->lines.n_cookies, dialog->visit.is_https);
    if (dialog->token.p == NULL)
        return;
    crypto_sha256(dialog->token, digest);
    crypto_hex(digest, sizeof(digest), dialog->token_hash);
}

static void begin_data(struct dialog *dialog, struct str method, struct str path)
{
    enum outcome outcome;

    action_find(method, path, &dialog->found);
    if (dialog->found.end == ACTION_UNKNOWN) {
        respond_refusal(&dialog->visit, OUTCOME_NOT_FOUND, NULL);
        return;
    }
    if (dialog->found.end == ACTION_NO_METHOD) {
        respond_no_method(&dialog->visit, dialog->found.allow);
        return;
    }
    dialog->visit.span.name = dialog->found.action->path;
    read_token(dialog);
    outcome = judge(dialog);
    note_foreign(dialog, outcome);
    if (outcome != OUTCOME_OK)
        respond_refusal(&dialog->visit, outcome, NULL);
    else if (dialog->found.action->kind == ACTION_SIGN_IN)
        perform(dialog);
    else if (!dialog_check(dialog, on_checked))
        respond_refusal(&dialog->visit, OUTCOME_UNAVAILABLE, NULL);
}

/* -- files ----------------------------------------------------------------------------------- */

static void begin_asset(struct dialog *dialog, struct str method, struct str path)
{
    const struct asset *asset = asset_find(path);

    if (asset == NULL)
        respond_refusal(&dialog->visit, OUTCOME_NOT_FOUND, NULL);
    else if (!str_equal(method, STR("GET")) && !str_equal(method, STR("HEAD")))
        respond_no_method(&dialog->visit, "GET, HEAD");
    else
        respond_asset(&dialog->visit, asset, dialog->lines.accept_encoding.value,
                      dialog->lines.if_none_match.value);
}

/* -- beginning and end ----------------------------------------------------------------------- */

static void on_end(struct visit *visit)
{
    struct dialog *dialog = H2O_STRUCT_FROM_MEMBER(struct dialog, visit, visit);

    export_release(dialog->export);
    identity_release(&dialog->who);
    json_free(dialog->view);
    bus_message_free(dialog->reply);
}

int dialog_begin(h2o_handler_t *handler, h2o_req_t *req)
{
    struct visit *visit = visit_begin(req, sizeof(struct dialog), on_end);
    struct dialog *dialog = H2O_STRUCT_FROM_MEMBER(struct dialog, visit, visit);
    struct str method = {req->input.method.base, req->input.method.len};
    struct str path;

    lines_read(req, &dialog->lines);
    visit_meet(visit, dialog->lines.forwarded_for, dialog->lines.n_forwarded_for,
               dialog->lines.forwarded_proto.value);
    visit_trace(visit, dialog->lines.traceparent.n == 1
                           ? str_trim_ows(dialog->lines.traceparent.value)
                           : STR_NONE);
    visit->span.name = "page";
    if (visit->fault != FRAMING_SOUND) {
        respond_fault(visit);
        return 0;
    }
    dialog->query = (struct str){req->input.path.base, req->input.path.len};
    path = str_cut(&dialog->query, '?');
    if (visit->edge->requests > DIALOGS_MOST)
        respond_refusal(visit, OUTCOME_BUSY, NULL);
    else if (str_starts(path, STR("/data/")))
        begin_data(dialog, method, path);
    else
        begin_asset(dialog, method, path);
    return 0;
}
