/* Sessions as browsers and attackers see them: cookies, sign-in, sign-out, and roles that are taken
   away during a session. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/crypto/crypto.h"
#include "tests/support/dashboard_client.h"
#include "tests/support/sql.h"

TestSuite(dashboard_sessions, .init = stack_share);

#define PROXY "127.0.0.2" /* whose X-Forwarded-... headers are trusted */

static struct org org;
static struct dashboard_session session;

static void open_session(const char *role)
{
    org_new(&org);
    dashboard_client_new_user(&session, org.id, role);
}

static void expect_signed_in(const struct dashboard_session *who)
{
    expect_status(dashboard_client_get(who, "/data/session"), 200);
}

/* Asking who is signed in is no error: the response has a null user and nothing else. */
static void expect_nobody(const struct client_response *response)
{
    expect_status(response, 200);
    expect_members(response->json, "user");
    expect_null(response, "user");
}

static void expect_signed_out(const struct dashboard_session *who)
{
    expect_nobody(dashboard_client_get(who, "/data/session"));
    expect_error(dashboard_client_get(who, "/data/policy"), 401, "unauthorized", NULL);
}

/* -- cookies ----------------------------------------------------------------------------------- */

Test(dashboard_sessions, have_a_cookie_that_no_script_and_no_other_site_gets)
{
    struct client_response *response;

    open_session("owner");
    response = dashboard_client_sign_in(session.email, session.password, NULL);
    cr_assert_str_eq(http_header(response, "Set-Cookie"),
                     format("session=%s; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict",
                            dashboard_client_cookie(response)));
    cr_assert_null(http_header(response, "Strict-Transport-Security"));
    cr_assert_null(strstr(response->body, dashboard_client_cookie(response)));
}

/* Signs in from that address, with that X-Forwarded-Proto. */
static struct client_response *sign_in_by_https(const char *from, const char *proto)
{
    const char *headers[] = {format("X-Forwarded-Proto: %s", proto), NULL};
    const char *url = stack_setting("DASHBOARD_URL");

    return dashboard_client_send(&(struct dashboard_client_request){
        .method = "POST",
        .path = "/data/session",
        .body = format("{\"email\":\"%s\",\"password\":\"%s\"}", session.email, session.password),
        .origin = format("%s%s",
                         strcmp(proto, "https") == 0 && strcmp(from, PROXY) == 0 ? "https" : "http",
                         strstr(url, "://")),
        .headers = headers,
        .from = from});
}

static struct client_response *look_by_https(const char *cookie)
{
    static const char *const headers[] = {"X-Forwarded-Proto: https", NULL};

    return dashboard_client_send(&(struct dashboard_client_request){
        .path = "/data/session", .cookie = cookie, .headers = headers, .from = PROXY});
}

Test(dashboard_sessions, have_a_cookie_only_for_https_behind_a_trusted_proxy)
{
    struct client_response *response;
    const char *token;

    open_session("owner");
    response = sign_in_by_https(PROXY, "https");
    expect_status(response, 200);
    token = dashboard_client_cookie(response);
    cr_assert_str_eq(
        http_header(response, "Set-Cookie"),
        format("__Host-session=%s; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure",
               token));
    cr_assert_not_null(http_header(response, "Strict-Transport-Security"));
    cr_assert(json_is_true(at(response, "secure")));
    expect_status(look_by_https(format("__Host-session=%s", token)), 200);
    expect_nobody(look_by_https(format("session=%s", token)));
    expect_nobody(dashboard_client_send(&(struct dashboard_client_request){
        .path = "/data/session", .cookie = format("__Host-session=%s", token)}));
}

Test(dashboard_sessions, believe_no_proxy_that_is_not_trusted)
{
    struct client_response *response;

    open_session("owner");
    response = sign_in_by_https("127.0.0.1", "https");
    expect_status(response, 200);
    cr_assert_null(strstr(http_header(response, "Set-Cookie"), "Secure"));
    cr_assert_null(http_header(response, "Strict-Transport-Security"));
    cr_assert(json_is_false(at(response, "secure")));
    response = sign_in_by_https(PROXY, "https, http");
    expect_status(response, 200);
    cr_assert(json_is_false(at(response, "secure")));
}

Test(dashboard_sessions, are_those_of_one_cookie)
{
    struct dashboard_session other;
    const char *both;

    open_session("owner");
    dashboard_client_new_session(&session, &other);
    both = format("session=%s; session=%s", session.token, other.token);
    expect_nobody(dashboard_client_send(
        &(struct dashboard_client_request){.path = "/data/session", .cookie = both}));
    expect_nobody(dashboard_client_send(&(struct dashboard_client_request){
        .path = "/data/session", .cookie = format("session=%s ", "x")}));
}

/* -- sign-in ----------------------------------------------------------------------------------- */

Test(dashboard_sessions, get_a_new_secret_whatever_cookie_the_browser_sent)
{
    static const char chosen[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    struct client_response *response;

    open_session("owner");
    response =
        dashboard_client_sign_in(session.email, session.password, format("session=%s", chosen));
    expect_status(response, 200);
    cr_assert_str_neq(dashboard_client_cookie(response), chosen);
    expect_nobody(dashboard_client_send(&(struct dashboard_client_request){
        .path = "/data/session", .cookie = format("session=%s", chosen)}));
}

Test(dashboard_sessions, end_when_the_browser_signs_in_again)
{
    struct client_response *response;

    open_session("owner");
    response =
        dashboard_client_sign_in(session.email, "wrong", format("session=%s", session.token));
    expect_error(response, 401, "unauthorized", NULL);
    cr_assert_null(http_header(response, "Set-Cookie"));
    expect_signed_in(&session);
    expect_status(dashboard_client_sign_in(session.email, session.password,
                                           format("session=%s", session.token)),
                  200);
    expect_signed_out(&session);
}

Test(dashboard_sessions, do_not_tell_which_emails_are_known)
{
    struct client_response *wrong, *unknown;

    open_session("owner");
    wrong = dashboard_client_sign_in(session.email, "wrong", NULL);
    unknown = dashboard_client_sign_in(format("nobody@%s.example", org.id), "wrong", NULL);
    expect_error(wrong, 401, "unauthorized", NULL);
    expect_error(unknown, 401, "unauthorized", NULL);
    cr_assert_str_eq(text_at(wrong, "errors[0].message"), text_at(unknown, "errors[0].message"));
}

Test(dashboard_sessions, do_not_begin_by_force)
{
    /* Failures are counted by address, too, so this test has an address of its own. */
    const char *headers[] = {NULL, NULL};
    struct client_response *response = NULL;

    open_session("owner");
    headers[0] = format("X-Forwarded-For: 2001:db8::%.4s:%.4s", org.id + 32, org.id + 28);
    /* More than twice the limit, since a new minute may begin meanwhile. */
    for (int i = 0; i < 25 && (response == NULL || response->status == 401); i++)
        response = dashboard_client_send(&(struct dashboard_client_request){
            .method = "POST",
            .path = "/data/session",
            .body = format("{\"email\":\"%s\",\"password\":\"wrong\"}", session.email),
            .headers = headers,
            .from = PROXY});
    expect_error(response, 429, "rate_limit_exceeded", NULL);
    cr_assert_geq(http_header_integer(response, "Retry-After"), 1);
    cr_assert_leq(http_header_integer(response, "Retry-After"), 60);
    expect_signed_in(&session);
}

/* -- sign-out ---------------------------------------------------------------------------------- */

Test(dashboard_sessions, end_with_the_sign_out)
{
    struct client_response *response;

    open_session("member");
    response = dashboard_client_change(&session, "DELETE", "/data/session", NULL);
    expect_status(response, 200);
    cr_assert_str_eq(http_header(response, "Set-Cookie"),
                     "session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    cr_assert_str_eq(http_header(response, "Clear-Site-Data"), "\"cache\", \"storage\"");
    expect_signed_out(&session);
}

Test(dashboard_sessions, end_everywhere_at_once)
{
    struct dashboard_session other;

    open_session("member");
    dashboard_client_new_session(&session, &other);
    expect_status(dashboard_client_change(&other, "DELETE", "/data/sessions", NULL), 200);
    expect_signed_out(&session);
    expect_signed_out(&other);
}

static const char *id_of_session(const struct dashboard_session *who)
{
    uint8_t digest[SHA256_BYTES];
    char hash[2 * SHA256_BYTES + 1];

    crypto_sha256(str_of(who->token), digest);
    hex_write(digest, sizeof(digest), hash);
    return sql_text(
        "SELECT session_id::text FROM access.sessions WHERE token_hash = decode($1, 'hex')", hash,
        NULL);
}

Test(dashboard_sessions, end_one_by_one_for_their_own_user)
{
    struct dashboard_session other, stranger;
    const char *id;

    open_session("owner");
    dashboard_client_new_user(&stranger, org.id, "member");
    dashboard_client_new_session(&session, &other);
    id = id_of_session(&other);
    (void)dashboard_client_change(&stranger, "DELETE", format("/data/sessions/%s", id), NULL);
    expect_signed_in(&other);
    expect_status(
        dashboard_client_change(&session, "DELETE", format("/data/sessions/%s", id), NULL), 200);
    expect_signed_out(&other);
    expect_signed_in(&session);
}

Test(dashboard_sessions, end_elsewhere_when_the_password_changes)
{
    struct dashboard_session other;

    open_session("member");
    dashboard_client_new_session(&session, &other);
    expect_error(dashboard_client_change(
                     &session, "POST", "/data/password",
                     "{\"password\":\"not it\",\"new_password\":\"a new one of length\"}"),
                 400, "parameter_invalid", "password");
    expect_signed_in(&other);
    expect_status(dashboard_client_change(
                      &session, "POST", "/data/password",
                      format("{\"password\":\"%s\",\"new_password\":\"a new one of length\"}",
                             session.password)),
                  200);
    expect_signed_in(&session);
    expect_signed_out(&other);
    expect_error(dashboard_client_sign_in(session.email, session.password, NULL), 401,
                 "unauthorized", NULL);
    expect_status(dashboard_client_sign_in(session.email, "a new one of length", NULL), 200);
}

/* -- changes during a session ------------------------------------------------------------------ */

Test(dashboard_sessions, have_the_role_of_the_moment)
{
    struct dashboard_session admin;

    open_session("owner");
    dashboard_client_new_user(&admin, org.id, "admin");
    expect_status(dashboard_client_change(&admin, "POST", "/data/keys",
                                          "{\"name\":\"a\",\"scope\":\"read\"}"),
                  200);
    expect_status(dashboard_client_change(&session, "PUT",
                                          format("/data/members/%s", admin.user_id),
                                          "{\"role\":\"member\"}"),
                  200);
    expect_error(dashboard_client_change(&admin, "POST", "/data/keys",
                                         "{\"name\":\"b\",\"scope\":\"read\"}"),
                 403, "insufficient_role", NULL);
    expect_text(dashboard_client_get(&admin, "/data/session"), "user.role", "member");
}

Test(dashboard_sessions, end_with_the_member)
{
    struct dashboard_session admin;

    open_session("owner");
    dashboard_client_new_user(&admin, org.id, "admin");
    expect_status(dashboard_client_change(&session, "DELETE",
                                          format("/data/members/%s", admin.user_id), NULL),
                  200);
    expect_signed_out(&admin);
}

Test(dashboard_sessions, end_by_themselves)
{
    open_session("owner");
    cr_assert_not_null(sql_text("UPDATE access.sessions SET last_seen_at = now() - interval '13 h'"
                                " WHERE user_id = $1::uuid RETURNING session_id::text",
                                session.user_id, NULL));
    expect_signed_out(&session);
}
