/* Sessions as a browser and its enemies see them: cookies, sign-in, sign-out, and roles that are
   taken away meanwhile. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/crypto/crypto.h"
#include "tests/support/desk.h"
#include "tests/support/sql.h"

TestSuite(dashboard_sessions, .init = api_open, .timeout = 120);

#define PROXY "127.0.0.2" /* whose X-Forwarded-... are believed */

static struct org org;
static struct seat seat;

static void sit_down(const char *role)
{
    org_new(&org);
    desk_sit(&seat, org.id, role);
}

static void expect_signed_in(const struct seat *who)
{
    expect_status(desk_get(who, "/data/session"), 200);
}

static void expect_signed_out(const struct seat *who)
{
    expect_error(desk_get(who, "/data/session"), 401, "unauthorized", NULL);
}

/* -- cookies ----------------------------------------------------------------------------------- */

Test(dashboard_sessions, have_a_cookie_that_no_script_and_no_other_site_gets)
{
    struct answer *answer;

    sit_down("owner");
    answer = desk_sign_in(seat.email, seat.password, NULL);
    cr_assert_str_eq(http_header(answer, "Set-Cookie"),
                     format("session=%s; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict",
                            desk_cookie(answer)));
    cr_assert_null(http_header(answer, "Strict-Transport-Security"));
    cr_assert_null(strstr(answer->body, desk_cookie(answer)));
}

/* A sign-in and what follows it, through the proxy. */
static struct answer *sign_in_by_https(const char *from, const char *proto)
{
    const char *headers[] = {format("X-Forwarded-Proto: %s", proto), NULL};
    const char *url = stack_setting("DASHBOARD_URL");

    return desk_send(&(struct desk_request){
        .method = "POST",
        .path = "/data/session",
        .body = format("{\"email\":\"%s\",\"password\":\"%s\"}", seat.email, seat.password),
        .origin = format("%s%s",
                         strcmp(proto, "https") == 0 && strcmp(from, PROXY) == 0 ? "https" : "http",
                         strstr(url, "://")),
        .headers = headers,
        .from = from});
}

static struct answer *look_by_https(const char *cookie)
{
    static const char *const headers[] = {"X-Forwarded-Proto: https", NULL};

    return desk_send(&(struct desk_request){
        .path = "/data/session", .cookie = cookie, .headers = headers, .from = PROXY});
}

Test(dashboard_sessions, have_a_cookie_for_https_alone_behind_a_trusted_proxy)
{
    struct answer *answer;
    const char *token;

    sit_down("owner");
    answer = sign_in_by_https(PROXY, "https");
    expect_status(answer, 200);
    token = desk_cookie(answer);
    cr_assert_str_eq(
        http_header(answer, "Set-Cookie"),
        format("__Host-session=%s; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure",
               token));
    cr_assert_not_null(http_header(answer, "Strict-Transport-Security"));
    cr_assert(json_is_true(at(answer, "secure")));
    expect_status(look_by_https(format("__Host-session=%s", token)), 200);
    expect_status(look_by_https(format("session=%s", token)), 401);
    expect_status(desk_send(&(struct desk_request){.path = "/data/session",
                                                   .cookie = format("__Host-session=%s", token)}),
                  401);
}

Test(dashboard_sessions, believe_no_proxy_that_is_not_trusted)
{
    struct answer *answer;

    sit_down("owner");
    answer = sign_in_by_https("127.0.0.1", "https");
    expect_status(answer, 200);
    cr_assert_null(strstr(http_header(answer, "Set-Cookie"), "Secure"));
    cr_assert_null(http_header(answer, "Strict-Transport-Security"));
    cr_assert(json_is_false(at(answer, "secure")));
    answer = sign_in_by_https(PROXY, "https, http");
    expect_status(answer, 200);
    cr_assert(json_is_false(at(answer, "secure")));
}

Test(dashboard_sessions, are_those_of_one_cookie)
{
    struct seat other;
    const char *both;

    sit_down("owner");
    desk_sit_again(&seat, &other);
    both = format("session=%s; session=%s", seat.token, other.token);
    expect_error(desk_send(&(struct desk_request){.path = "/data/session", .cookie = both}), 401,
                 "unauthorized", NULL);
    expect_error(desk_send(&(struct desk_request){.path = "/data/session",
                                                  .cookie = format("session=%s ", "x")}),
                 401, "unauthorized", NULL);
}

/* -- sign-in ----------------------------------------------------------------------------------- */

Test(dashboard_sessions, begin_anew_whatever_the_browser_brought)
{
    static const char chosen[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    struct answer *answer;

    sit_down("owner");
    answer = desk_sign_in(seat.email, seat.password, format("session=%s", chosen));
    expect_status(answer, 200);
    cr_assert_str_neq(desk_cookie(answer), chosen);
    expect_status(desk_send(&(struct desk_request){.path = "/data/session",
                                                   .cookie = format("session=%s", chosen)}),
                  401);
}

Test(dashboard_sessions, end_when_the_browser_signs_in_again)
{
    struct answer *answer;

    sit_down("owner");
    answer = desk_sign_in(seat.email, "wrong", format("session=%s", seat.token));
    expect_error(answer, 401, "unauthorized", NULL);
    cr_assert_null(http_header(answer, "Set-Cookie"));
    expect_signed_in(&seat);
    expect_status(desk_sign_in(seat.email, seat.password, format("session=%s", seat.token)), 200);
    expect_signed_out(&seat);
}

Test(dashboard_sessions, do_not_tell_which_emails_are_known)
{
    struct answer *wrong, *unknown;

    sit_down("owner");
    wrong = desk_sign_in(seat.email, "wrong", NULL);
    unknown = desk_sign_in(format("nobody@%s.example", org.id), "wrong", NULL);
    expect_error(wrong, 401, "unauthorized", NULL);
    expect_error(unknown, 401, "unauthorized", NULL);
    cr_assert_str_eq(text_at(wrong, "errors[0].message"), text_at(unknown, "errors[0].message"));
}

Test(dashboard_sessions, do_not_begin_by_force)
{
    /* Failures count by address too: that of this test is its own. */
    const char *headers[] = {NULL, NULL};
    struct answer *answer = NULL;

    sit_down("owner");
    headers[0] = format("X-Forwarded-For: 2001:db8::%.4s:%.4s", org.id + 32, org.id + 28);
    /* They are counted by the minute, and a new one may begin meanwhile. */
    for (int i = 0; i < 25 && (answer == NULL || answer->status == 401); i++)
        answer = desk_send(&(struct desk_request){
            .method = "POST",
            .path = "/data/session",
            .body = format("{\"email\":\"%s\",\"password\":\"wrong\"}", seat.email),
            .headers = headers,
            .from = PROXY});
    expect_error(answer, 429, "rate_limit_exceeded", NULL);
    cr_assert_geq(http_header_integer(answer, "Retry-After"), 1);
    cr_assert_leq(http_header_integer(answer, "Retry-After"), 60);
    expect_signed_in(&seat);
}

/* -- sign-out ---------------------------------------------------------------------------------- */

Test(dashboard_sessions, end_with_the_sign_out)
{
    struct answer *answer;

    sit_down("member");
    answer = desk_do(&seat, "DELETE", "/data/session", NULL);
    expect_status(answer, 200);
    cr_assert_str_eq(http_header(answer, "Set-Cookie"),
                     "session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    cr_assert_str_eq(http_header(answer, "Clear-Site-Data"), "\"cache\", \"storage\"");
    expect_signed_out(&seat);
}

Test(dashboard_sessions, end_everywhere_at_once)
{
    struct seat other;

    sit_down("member");
    desk_sit_again(&seat, &other);
    expect_status(desk_do(&other, "DELETE", "/data/sessions", NULL), 200);
    expect_signed_out(&seat);
    expect_signed_out(&other);
}

static const char *id_of_session(const struct seat *who)
{
    uint8_t digest[SHA256_BYTES];
    char hash[2 * SHA256_BYTES + 1];

    crypto_sha256(str_of(who->token), digest);
    crypto_hex(digest, sizeof(digest), hash);
    return sql_text(
        "SELECT session_id::text FROM access.sessions WHERE token_hash = decode($1, 'hex')", hash,
        NULL);
}

Test(dashboard_sessions, end_one_by_one_for_their_own_user)
{
    struct seat other, stranger;
    const char *id;

    sit_down("owner");
    desk_sit(&stranger, org.id, "member");
    desk_sit_again(&seat, &other);
    id = id_of_session(&other);
    (void)desk_do(&stranger, "DELETE", format("/data/sessions/%s", id), NULL);
    expect_signed_in(&other);
    expect_status(desk_do(&seat, "DELETE", format("/data/sessions/%s", id), NULL), 200);
    expect_signed_out(&other);
    expect_signed_in(&seat);
}

Test(dashboard_sessions, end_elsewhere_when_the_password_changes)
{
    struct seat other;

    sit_down("member");
    desk_sit_again(&seat, &other);
    expect_error(desk_do(&seat, "POST", "/data/password",
                         "{\"password\":\"not it\",\"new_password\":\"a new one of length\"}"),
                 400, "parameter_invalid", "password");
    expect_signed_in(&other);
    expect_status(desk_do(&seat, "POST", "/data/password",
                          format("{\"password\":\"%s\",\"new_password\":\"a new one of length\"}",
                                 seat.password)),
                  200);
    expect_signed_in(&seat);
    expect_signed_out(&other);
    expect_error(desk_sign_in(seat.email, seat.password, NULL), 401, "unauthorized", NULL);
    expect_status(desk_sign_in(seat.email, "a new one of length", NULL), 200);
}

/* -- what changes meanwhile -------------------------------------------------------------------- */

Test(dashboard_sessions, have_the_role_of_the_moment)
{
    struct seat admin;

    sit_down("owner");
    desk_sit(&admin, org.id, "admin");
    expect_status(desk_do(&admin, "POST", "/data/keys", "{\"name\":\"a\",\"scope\":\"read\"}"),
                  200);
    expect_status(
        desk_do(&seat, "PUT", format("/data/members/%s", admin.user_id), "{\"role\":\"member\"}"),
        200);
    expect_error(desk_do(&admin, "POST", "/data/keys", "{\"name\":\"b\",\"scope\":\"read\"}"), 403,
                 "insufficient_role", NULL);
    expect_text(desk_get(&admin, "/data/session"), "user.role", "member");
}

Test(dashboard_sessions, end_with_the_member)
{
    struct seat admin;

    sit_down("owner");
    desk_sit(&admin, org.id, "admin");
    expect_status(desk_do(&seat, "DELETE", format("/data/members/%s", admin.user_id), NULL), 200);
    expect_signed_out(&admin);
}

Test(dashboard_sessions, end_by_themselves)
{
    sit_down("owner");
    cr_assert_not_null(sql_text("UPDATE access.sessions SET last_seen_at = now() - interval '13 h'"
                                " WHERE user_id = $1::uuid RETURNING session_id::text",
                                seat.user_id, NULL));
    expect_signed_out(&seat);
}
