#include "tests/support/dashboard_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/changes.h"

#define HEADERS_MAX 16
#define SIGN_IN_US  (30 * 1000 * 1000)

struct lines {
    const char *at[HEADERS_MAX];
    size_t n;
};

/* `given`: NULL = `usual`, "" = none. */
static void add(struct lines *lines, const char *name, const char *given, const char *usual)
{
    const char *value = given != NULL ? given : usual;

    cr_assert_lt(lines->n, HEADERS_MAX - 1);
    if (value != NULL && value[0] != '\0')
        lines->at[lines->n++] = format("%s: %s", name, value);
}

static void expect_header(const struct client_response *response, const char *name,
                          const char *value)
{
    const char *found = http_header(response, name);

    cr_assert(found != NULL && strcmp(found, value) == 0, "%s: %d with %s: %s", response->about,
              response->status, name, found != NULL ? found : "(none)");
    cr_assert_eq(http_header_count(response, name), 1, "%s: %s", response->about, name);
}

static void check_response(struct client_response *response, const char *path)
{
    const char *policy = http_header(response, "Content-Security-Policy");
    const char *id = http_header(response, "X-Service-Request-Id");

    cr_assert(policy != NULL && strncmp(policy, "default-src 'none'; script-src 'self'; ", 39) == 0,
              "%s: %d", response->about, response->status);
    cr_assert_not_null(strstr(policy, "frame-ancestors 'none'"));
    cr_assert_null(strstr(policy, "unsafe"));
    expect_header(response, "X-Content-Type-Options", "nosniff");
    expect_header(response, "X-Frame-Options", "DENY");
    expect_header(response, "Referrer-Policy", "no-referrer");
    expect_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    expect_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    cr_assert(id != NULL && strlen(id) == 36, "%s", response->about);
    memcpy(response->request_id, id, 37);
    cr_assert_null(http_header(response, "Location"), "%s", response->about);
    cr_assert_null(http_header(response, "Access-Control-Allow-Origin"), "%s", response->about);
    cr_assert_null(http_header(response, "Server"), "%s", response->about);
    if (strncmp(path, "/data/", 6) == 0 || response->status >= 400)
        expect_header(response, "Cache-Control", "no-store");
    if (response->status >= 400)
        expect_header(response, "Content-Type", "application/json");
}

struct client_response *dashboard_client_send(const struct dashboard_client_request *request)
{
    const char *method = request->method != NULL ? request->method : "GET";
    const struct dashboard_session *session = request->session;
    bool is_change = strcmp(method, "GET") != 0;
    struct lines lines = {.n = 0};
    struct client_response *response;

    add(&lines, "Origin", request->origin, is_change ? stack_setting("DASHBOARD_URL") : NULL);
    add(&lines, "X-CSRF-Token", request->csrf, is_change && session != NULL ? session->csrf : NULL);
    add(&lines, "Cookie", request->cookie,
        session != NULL ? format("session=%s", session->token) : NULL);
    add(&lines, "Content-Type", request->type, is_change ? "application/json" : NULL);
    if (request->type != NULL && request->type[0] == '\0')
        lines.at[lines.n++] = "Content-Type:"; /* tells curl to send none */
    for (const char *const *h = request->headers; h != NULL && *h != NULL; h++) {
        cr_assert_lt(lines.n, HEADERS_MAX - 1);
        lines.at[lines.n++] = *h;
    }
    response = http_send(&(struct client_request){.method = method,
                                                  .base = stack_setting("DASHBOARD_URL"),
                                                  .path = request->path,
                                                  .body = request->body,
                                                  .headers = lines.at,
                                                  .from = request->from,
                                                  .skip_checks = true});
    check_response(response, request->path);
    return response;
}

struct client_response *dashboard_client_get(const struct dashboard_session *session,
                                             const char *path)
{
    return dashboard_client_send(
        &(struct dashboard_client_request){.path = path, .session = session});
}

struct client_response *dashboard_client_change(const struct dashboard_session *session,
                                                const char *method, const char *path,
                                                const char *body)
{
    return dashboard_client_send(&(struct dashboard_client_request){
        .method = method, .path = path, .body = body, .session = session});
}

struct client_response *dashboard_client_sign_in(const char *email, const char *password,
                                                 const char *cookie)
{
    return dashboard_client_send(&(struct dashboard_client_request){
        .method = "POST",
        .path = "/data/session",
        .body = format("{\"email\":\"%s\",\"password\":\"%s\"}", email, password),
        .cookie = cookie});
}

const char *dashboard_client_cookie(const struct client_response *response)
{
    const char *line = http_header(response, "Set-Cookie");
    const char *value = line != NULL ? strchr(line, '=') : NULL;

    return value != NULL ? format("%.*s", (int)strcspn(value + 1, ";"), value + 1) : NULL;
}

static void copy(char *to, size_t capacity, const char *from)
{
    cr_assert(from != NULL && strlen(from) < capacity);
    memcpy(to, from, strlen(from) + 1);
}

/* Retries a sign-in that is turned away because many others sign in. */
static void open_session(struct dashboard_session *session)
{
    const int64_t until_us = clock_mono_us() + SIGN_IN_US;
    struct client_response *response;

    response = dashboard_client_sign_in(session->email, session->password, NULL);
    while (response->status == 503 && clock_mono_us() < until_us) {
        stack_let_run(50);
        response = dashboard_client_sign_in(session->email, session->password, NULL);
    }
    expect_status(response, 200);
    copy(session->token, sizeof(session->token), dashboard_client_cookie(response));
    copy(session->csrf, sizeof(session->csrf), text_at(response, "csrf"));
}

void dashboard_client_new_user(struct dashboard_session *session, const char *organization_id,
                               const char *role)
{
    json_t *user;

    copy(session->organization_id, sizeof(session->organization_id), organization_id);
    snprintf(session->email, sizeof(session->email), "%s@%s.example", role, organization_id);
    user = convctl("user", "create", "--org", organization_id, "--email", session->email, "--role",
                   role, NULL);
    copy(session->user_id, sizeof(session->user_id),
         json_string_value(json_object_get(user, "id")));
    copy(session->password, sizeof(session->password),
         json_string_value(json_object_get(user, "password")));
    json_decref(user);
    open_session(session);
}

void dashboard_client_new_session(const struct dashboard_session *session,
                                  struct dashboard_session *again)
{
    *again = *session;
    open_session(again);
}

long long dashboard_client_count_changes(const char *organization_id)
{
    return (long long)changes_count(organization_id, "true");
}
