/* Sessions: how one begins, what the pages see of it, and how it ends. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "proto/subject.h"
#include "services/dashboard/cookie.h"
#include "services/dashboard/dashboard.h"
#include "services/dashboard/dashboard_meter.h"
#include "services/dashboard/dialog.h"
#include "services/dashboard/respond.h"

void sign_csrf(struct str token, char out[2 * SHA256_BYTES + 1])
{
    char text[4 + COOKIE_TOKEN_TEXT] = {'c', 's', 'r', 'f'};
    uint8_t digest[SHA256_BYTES];

    must(token.n == COOKIE_TOKEN_TEXT);
    memcpy(text + 4, token.p, COOKIE_TOKEN_TEXT);
    crypto_sha256((struct str){text, sizeof(text)}, digest);
    crypto_hex(digest, sizeof(digest), out);
    crypto_wipe(text, sizeof(text));
}

/* -- what the pages see ---------------------------------------------------------------------- */

/* `answer` is that of session-check or of a sign-in: a copy of what the pages may see of it. */
static json_t *view_of(const struct dialog *dialog, const json_t *answer, struct str token)
{
    char csrf[2 * SHA256_BYTES + 1], address[ADDRESS_TEXT];

    sign_csrf(token, csrf);
    address_format(&dialog->visit.client, address);
    return json_pack(
        "{s:O?, s:O?, s:O?, s:s, s:s, s:s, s:b}", "user", json_object_get(answer, "user"),
        "organization", json_object_get(answer, "organization"), "expires_at",
        json_object_get(answer, "expires_at"), "csrf", csrf, "address", address, "base_url",
        dashboard_settings.base_url, "secure", (int)dialog->visit.is_https);
}

static void send_view(struct dialog *dialog)
{
    char *text = json_dumps(dialog->view, JSON_COMPACT);
    h2o_iovec_t copy;

    must(text != NULL);
    copy = h2o_strdup(&dialog->visit.req->pool, text, strlen(text));
    respond(
        &dialog->visit,
        &(struct response){.status = 200, .body = {copy.base, copy.len}, .cookie = dialog->cookie});
    free(text);
}

void sign_show(struct dialog *dialog)
{
    dialog->view = view_of(dialog, dialog->who.answer, dialog->token);
    send_view(dialog);
}

/* -- beginning ------------------------------------------------------------------------------- */

/* Whatever became of the session that the browser had before: the new one stands. */
static void on_old_ended(void *owner, enum call_end end, struct bus_message *message)
{
    bus_message_free(message);
    send_view(owner);
}

/* The browser's session so far, whosever it was, does not outlive the sign-in. */
static void end_old(struct dialog *dialog)
{
    char body[2 * SHA256_BYTES + 24];
    int n = snprintf(body, sizeof(body), "{\"token_hash\":\"%s\"}", dialog->token_hash);

    if (dialog->token.p == NULL ||
        !ask_try(dialog, SUBJECT_ACCESS_SESSION_END, (struct str){body, (size_t)n}, on_old_ended))
        send_view(dialog);
}

static bool begin_session(struct dialog *dialog, json_t *answer)
{
    struct str token = json_member_text(answer, "session");
    char *cookie;

    if (!cookie_is_token(token))
        return false;
    cookie = h2o_mem_alloc_pool(&dialog->visit.req->pool, COOKIE_TEXT);
    cookie_write(token, dialog->visit.is_https, cookie);
    dialog->cookie = cookie;
    dialog->view = view_of(dialog, answer, token);
    metric_add(dashboard_meter.sign_ins, 1);
    return true;
}

static void note_refusal(const struct dialog *dialog, enum outcome outcome)
{
    char client[ADDRESS_TEXT];

    if (outcome != OUTCOME_UNAUTHORIZED && outcome != OUTCOME_RATE_LIMITED)
        return;
    address_format(&dialog->visit.client, client);
    metric_add(dashboard_meter.sign_ins_refused, 1);
    LOG(LOG_INFO, "sign-in refused", log_str("request_id", dialog->visit.id),
        log_trace(str_of(dialog->visit.traceparent)), log_str("client", client),
        log_str("outcome", outcome_name(outcome)));
}

static void on_signed_in(void *owner, enum call_end end, struct bus_message *message)
{
    struct dialog *dialog = owner;
    struct str body;
    enum outcome outcome = ask_outcome(dialog, end, message, &body);
    json_t *answer = NULL;
    char error[160];

    if (outcome != OUTCOME_OK) {
        note_refusal(dialog, outcome);
        ask_pass_on(dialog, outcome, body);
        return;
    }
    if (json_read(body, &answer, error) && json_object_get(answer, "session") == NULL)
        ask_pass_on(dialog, outcome, body); /* which organization is meant? */
    else if (begin_session(dialog, answer))
        end_old(dialog);
    else
        respond_refusal(&dialog->visit, OUTCOME_UNCERTAIN, NULL);
    json_free(answer);
}

void sign_in(struct dialog *dialog)
{
    ask(dialog, on_signed_in);
}

/* -- ending ---------------------------------------------------------------------------------- */

static void on_signed_out(void *owner, enum call_end end, struct bus_message *message)
{
    struct dialog *dialog = owner;
    struct str body;
    enum outcome outcome = ask_outcome(dialog, end, message, &body);
    char *cookie;

    if (outcome != OUTCOME_OK) {
        ask_pass_on(dialog, outcome, body);
        return;
    }
    cookie = h2o_mem_alloc_pool(&dialog->visit.req->pool, COOKIE_TEXT);
    cookie_write(STR_NONE, dialog->visit.is_https, cookie);
    respond(&dialog->visit,
            &(struct response){.status = 200, .body = body, .cookie = cookie, .forgets = true});
}

void sign_out(struct dialog *dialog)
{
    ask(dialog, on_signed_out);
}
