#include "tests/support/desk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/sql.h"

#define HEADERS_MOST 16

struct lines {
    const char *at[HEADERS_MOST];
    size_t n;
};

/* `given`: NULL = `usual`, "" = none. */
static void add(struct lines *lines, const char *name, const char *given, const char *usual)
{
    const char *value = given != NULL ? given : usual;

    cr_assert_lt(lines->n, HEADERS_MOST - 1);
    if (value != NULL && value[0] != '\0')
        lines->at[lines->n++] = format("%s: %s", name, value);
}

static void expect_header(const struct answer *answer, const char *name, const char *value)
{
    const char *found = http_header(answer, name);

    cr_assert(found != NULL && strcmp(found, value) == 0, "%s: %d with %s: %s", answer->about,
              answer->status, name, found != NULL ? found : "(none)");
    cr_assert_eq(http_header_count(answer, name), 1, "%s: %s", answer->about, name);
}

static void check_answer(struct answer *answer, const char *path)
{
    const char *policy = http_header(answer, "Content-Security-Policy");
    const char *id = http_header(answer, "X-Service-Request-Id");

    cr_assert(policy != NULL && strncmp(policy, "default-src 'none'; script-src 'self'; ", 39) == 0,
              "%s: %d", answer->about, answer->status);
    cr_assert_not_null(strstr(policy, "frame-ancestors 'none'"));
    cr_assert_null(strstr(policy, "unsafe"));
    expect_header(answer, "X-Content-Type-Options", "nosniff");
    expect_header(answer, "X-Frame-Options", "DENY");
    expect_header(answer, "Referrer-Policy", "no-referrer");
    expect_header(answer, "Cross-Origin-Opener-Policy", "same-origin");
    expect_header(answer, "Cross-Origin-Resource-Policy", "same-origin");
    cr_assert(id != NULL && strlen(id) == 36, "%s", answer->about);
    memcpy(answer->request_id, id, 37);
    cr_assert_null(http_header(answer, "Location"), "%s", answer->about);
    cr_assert_null(http_header(answer, "Access-Control-Allow-Origin"), "%s", answer->about);
    cr_assert_null(http_header(answer, "Server"), "%s", answer->about);
    if (strncmp(path, "/data/", 6) == 0 || answer->status >= 400)
        expect_header(answer, "Cache-Control", "no-store");
    if (answer->status >= 400)
        expect_header(answer, "Content-Type", "application/json");
}

struct answer *desk_send(const struct desk_request *request)
{
    const char *method = request->method != NULL ? request->method : "GET";
    const struct seat *seat = request->seat;
    bool is_change = strcmp(method, "GET") != 0;
    struct lines lines = {.n = 0};
    struct answer *answer;

    add(&lines, "Origin", request->origin, is_change ? stack_setting("DASHBOARD_URL") : NULL);
    add(&lines, "X-CSRF-Token", request->csrf, is_change && seat != NULL ? seat->csrf : NULL);
    add(&lines, "Cookie", request->cookie, seat != NULL ? format("session=%s", seat->token) : NULL);
    add(&lines, "Content-Type", request->type, is_change ? "application/json" : NULL);
    if (request->type != NULL && request->type[0] == '\0')
        lines.at[lines.n++] = "Content-Type:"; /* as curl is told to send none */
    for (const char *const *h = request->headers; h != NULL && *h != NULL; h++) {
        cr_assert_lt(lines.n, HEADERS_MOST - 1);
        lines.at[lines.n++] = *h;
    }
    answer = http_send(&(struct http_request){.method = method,
                                              .base = stack_setting("DASHBOARD_URL"),
                                              .path = request->path,
                                              .body = request->body,
                                              .headers = lines.at,
                                              .from = request->from,
                                              .skip_checks = true});
    check_answer(answer, request->path);
    return answer;
}

struct answer *desk_get(const struct seat *seat, const char *path)
{
    return desk_send(&(struct desk_request){.path = path, .seat = seat});
}

struct answer *desk_do(const struct seat *seat, const char *method, const char *path,
                       const char *body)
{
    return desk_send(
        &(struct desk_request){.method = method, .path = path, .body = body, .seat = seat});
}

struct answer *desk_sign_in(const char *email, const char *password, const char *cookie)
{
    return desk_send(&(struct desk_request){
        .method = "POST",
        .path = "/data/session",
        .body = format("{\"email\":\"%s\",\"password\":\"%s\"}", email, password),
        .cookie = cookie});
}

const char *desk_cookie(const struct answer *answer)
{
    const char *line = http_header(answer, "Set-Cookie");
    const char *value = line != NULL ? strchr(line, '=') : NULL;

    return value != NULL ? format("%.*s", (int)strcspn(value + 1, ";"), value + 1) : NULL;
}

static void copy(char *to, size_t room, const char *from)
{
    cr_assert(from != NULL && strlen(from) < room);
    memcpy(to, from, strlen(from) + 1);
}

static void sit_down(struct seat *seat)
{
    struct answer *answer = desk_sign_in(seat->email, seat->password, NULL);

    expect_status(answer, 200);
    copy(seat->token, sizeof(seat->token), desk_cookie(answer));
    copy(seat->csrf, sizeof(seat->csrf), text_at(answer, "csrf"));
}

void desk_sit(struct seat *seat, const char *organization_id, const char *role)
{
    json_t *user;

    copy(seat->organization_id, sizeof(seat->organization_id), organization_id);
    snprintf(seat->email, sizeof(seat->email), "%s@%s.example", role, organization_id);
    user = convctl("user", "create", "--org", organization_id, "--email", seat->email, "--role",
                   role, NULL);
    copy(seat->user_id, sizeof(seat->user_id), json_string_value(json_object_get(user, "id")));
    copy(seat->password, sizeof(seat->password),
         json_string_value(json_object_get(user, "password")));
    json_decref(user);
    sit_down(seat);
}

void desk_sit_again(const struct seat *seat, struct seat *again)
{
    *again = *seat;
    sit_down(again);
}

long long desk_changes(const char *organization_id)
{
    return (long long)sql_integer(
        "SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid", organization_id,
        NULL);
}
