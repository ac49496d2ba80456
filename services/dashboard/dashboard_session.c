/* Sessions: how they begin, what the pages see of them, and how they end. */

#include "services/dashboard/dashboard_session.h"

#include <stdio.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/log.h"
#include "common/base/uuid.h"
#include "proto/subject.h"
#include "services/dashboard/dashboard.h"
#include "services/dashboard/dashboard_metrics.h"
#include "services/dashboard/dashboard_request.h"
#include "services/dashboard/dashboard_response.h"

/* -- the cookie ------------------------------------------------------------------------------ */

/* The longest that a session lives; it may end earlier. */
#define LIFETIME_S (7 * 24 * 60 * 60)

static const char *name_of(bool is_https)
{
    return is_https ? "__Host-session" : "session";
}

bool cookie_is_token(struct str text)
{
    if (text.n != COOKIE_TOKEN_TEXT)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (!(ascii_is_alphanumeric(c) || c == '-' || c == '_'))
            return false;
    }
    return true;
}

struct str cookie_token(const struct str *headers, size_t n, bool is_https)
{
    struct str name = str_of(name_of(is_https)), token = STR_NONE;
    size_t n_found = 0;

    for (size_t i = 0; i < n; i++) {
        struct str rest = headers[i];

        while (rest.p != NULL) {
            struct str value = str_trim_ows(str_cut(&rest, ';'));

            if (!str_equal(str_cut(&value, '='), name) || value.p == NULL)
                continue;
            token = value;
            n_found++;
        }
    }
    return n_found == 1 && cookie_is_token(token) ? token : STR_NONE;
}

void cookie_write(struct str token, bool is_https, char out[COOKIE_TEXT])
{
    snprintf(out, COOKIE_TEXT, "%s=%.*s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
             name_of(is_https), (int)token.n, token.p != NULL ? token.p : "",
             token.p != NULL ? LIFETIME_S : 0, is_https ? "; Secure" : "");
}

/* -- where a request comes from -------------------------------------------------------------- */

bool origin_is_own(struct str origin, bool is_https, struct str host)
{
    struct str scheme = is_https ? STR("https://") : STR("http://");

    return host.n > 0 && str_starts(origin, scheme) &&
           str_equal_nocase(str_skip(origin, scheme.n), host);
}

bool origin_is_foreign(struct str fetch_site)
{
    return fetch_site.p != NULL && !str_equal(fetch_site, STR("same-origin")) &&
           !str_equal(fetch_site, STR("none"));
}

void dashboard_csrf_token(struct str token, char out[2 * SHA256_BYTES + 1])
{
    char text[4 + COOKIE_TOKEN_TEXT] = {'c', 's', 'r', 'f'};
    uint8_t digest[SHA256_BYTES];

    must(token.n == COOKIE_TOKEN_TEXT);
    memcpy(text + 4, token.p, COOKIE_TOKEN_TEXT);
    crypto_sha256((struct str){text, sizeof(text)}, digest);
    hex_write(digest, sizeof(digest), out);
    crypto_wipe(text, sizeof(text));
}

/* -- the signed-in user ---------------------------------------------------------------------- */

static const char *const role_names[] = {"member", "admin", "owner"};

/* NULL: absent, or with control characters, which cannot be sent in a bus header. */
static const char *text_of(const json_t *object, const char *name)
{
    struct str text = json_text(json_object_get(object, name));

    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return NULL;
    return text.n > 0 ? text.p : NULL;
}

static const char *id_of(const json_t *object)
{
    struct str text = json_text(json_object_get(object, "id"));
    struct uuid id;

    return uuid_parse(text, &id) ? text.p : NULL;
}

static bool read_role(struct identity *identity)
{
    for (size_t i = 0; i < ARRAY_SIZE(role_names); i++)
        if (identity->role_name != NULL && strcmp(identity->role_name, role_names[i]) == 0) {
            identity->role = (enum role)i;
            return true;
        }
    return false;
}

bool identity_read(struct str answer, struct identity *out)
{
    struct identity identity = {0};
    const json_t *user;

    if (!json_read(answer, &identity.answer, NULL))
        return false;
    user = json_object_get(identity.answer, "user");
    identity.user_id = id_of(user);
    identity.email = text_of(user, "email");
    identity.role_name = text_of(user, "role");
    identity.organization_id = id_of(json_object_get(identity.answer, "organization"));
    if (read_role(&identity) && identity.user_id != NULL && identity.email != NULL &&
        identity.organization_id != NULL &&
        cell_read(json_member_text(identity.answer, "cell"), identity.cell)) {
        *out = identity;
        return true;
    }
    json_free(identity.answer);
    return false;
}

void identity_release(struct identity *identity)
{
    json_free(identity->answer);
    *identity = (struct identity){0};
}

/* -- the session for the pages --------------------------------------------------------------- */

/* A copy of the parts that pages may see of `answer`, a reply to session-check or to a sign-in. */
static json_t *view_of(const struct dashboard_request *request, const json_t *answer,
                       struct str token)
{
    char csrf[2 * SHA256_BYTES + 1], address[ADDRESS_TEXT];

    dashboard_csrf_token(token, csrf);
    address_format(&request->http.client, address);
    return json_pack(
        "{s:O?, s:O?, s:O?, s:s, s:s, s:s, s:b, s:b}", "user", json_object_get(answer, "user"),
        "organization", json_object_get(answer, "organization"), "expires_at",
        json_object_get(answer, "expires_at"), "csrf", csrf, "address", address, "base_url",
        dashboard_of(request)->base_url, "secure", (int)request->http.is_https, "shows_services",
        (int)dashboard_of(request)->shows_services);
}

static void send_view(struct dashboard_request *request)
{
    char *text = json_dumps(request->view, JSON_COMPACT);

    must(text != NULL);
    dashboard_response_text(&request->http, text, request->cookie);
}

void dashboard_show_nobody(struct dashboard_request *request)
{
    request->view = json_pack("{s:n}", "user");
    send_view(request);
}

void dashboard_show_session(struct dashboard_request *request)
{
    request->view = view_of(request, request->who.answer, request->token);
    send_view(request);
}

/* -- beginning ------------------------------------------------------------------------------- */

/* The new session stands even if the old one could not be ended. */
static void on_old_ended(void *owner, enum call_end end, struct bus_message *message)
{
    bus_message_free(message);
    send_view(owner);
}

/* The browser's previous session, of this user or another, ends with the sign-in. */
static void end_old(struct dashboard_request *request)
{
    if (request->token.p == NULL || !backend_call(request, SUBJECT_ACCESS_SESSION_END,
                                                  dashboard_token_body(request), on_old_ended))
        send_view(request);
}

static bool begin_session(struct dashboard_request *request, json_t *answer)
{
    struct str token = json_member_text(answer, "session");
    char *cookie;

    if (!cookie_is_token(token))
        return false;
    cookie = arena_alloc(&request->http.arena, COOKIE_TEXT);
    cookie_write(token, request->http.is_https, cookie);
    request->cookie = cookie;
    request->view = view_of(request, answer, token);
    metric_add(dashboard_metrics.sign_ins, 1);
    return true;
}

static void note_refusal(const struct dashboard_request *request, enum outcome outcome)
{
    char client[ADDRESS_TEXT];

    if (outcome != OUTCOME_UNAUTHORIZED && outcome != OUTCOME_RATE_LIMITED)
        return;
    address_format(&request->http.client, client);
    metric_add(dashboard_metrics.sign_ins_refused, 1);
    LOG(LOG_INFO, "sign-in refused", log_str("request_id", request->http.id),
        log_trace(str_of(request->http.traceparent)), log_str("client", client),
        log_str("outcome", outcome_name(outcome)));
}

static void on_signed_in(void *owner, enum call_end end, struct bus_message *message)
{
    struct dashboard_request *request = owner;
    struct str body;
    enum outcome outcome = backend_outcome(request, end, message, &body);
    json_t *answer = NULL;

    if (outcome != OUTCOME_OK) {
        note_refusal(request, outcome);
        backend_pass_on(request, outcome, body);
        return;
    }
    if (json_read(body, &answer, NULL) && json_object_get(answer, "session") == NULL)
        backend_pass_on(request, outcome, body); /* the user must choose an organization */
    else if (begin_session(request, answer))
        end_old(request);
    else
        dashboard_response_refusal(&request->http, OUTCOME_UNCERTAIN, NULL);
    json_free(answer);
}

void dashboard_sign_in(struct dashboard_request *request)
{
    backend_call_action(request, on_signed_in);
}

/* -- ending ---------------------------------------------------------------------------------- */

static void on_signed_out(void *owner, enum call_end end, struct bus_message *message)
{
    struct dashboard_request *request = owner;
    struct str body;
    enum outcome outcome = backend_outcome(request, end, message, &body);
    char *cookie;

    if (outcome != OUTCOME_OK) {
        backend_pass_on(request, outcome, body);
        return;
    }
    cookie = arena_alloc(&request->http.arena, COOKIE_TEXT);
    cookie_write(STR_NONE, request->http.is_https, cookie);
    dashboard_response_send(&request->http,
                            &(struct dashboard_response){
                                .status = 200, .body = body, .cookie = cookie, .forgets = true});
}

void dashboard_sign_out(struct dashboard_request *request)
{
    backend_call_action(request, on_signed_out);
}
