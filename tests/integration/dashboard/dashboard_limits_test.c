/* Limits on use of the dashboard, none of which affects others: for a session, an organization, an
   address without a session, and a browser that does not read. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/dashboard_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/large_pages.h"
#include "tests/support/replica.h"

TestSuite(dashboard_limits, .init = stack_share);

#define LIMITED "conversations_dashboard_requests_limited_total"

/* A dashboard with the lowest limit for sessions that can be set. */
enum { PER_SECOND = 5, BURST = 12, AT_ONCE = 2, SESSIONS = 3, TRIES = 60, TIMEOUT_MS = 30000 };

static struct replica dashboard;

static void start(void)
{
    replica_start_of(&dashboard, "dashboard",
                     (const char *const[]){"DASHBOARD_REQUESTS_PER_SECOND=5",
                                           "TRUSTED_PROXIES=127.0.0.1/32", NULL});
}

static struct client_response *get_from(const char *address, const char *token, const char *path)
{
    const char *const lines[] = {format("Cookie: session=%s", token),
                                 format("X-Forwarded-For: %s", address), NULL};

    struct client_response *response =
        http_send(&(struct client_request){.method = "GET",
                                           .base = format("http://127.0.0.1:%d", dashboard.port),
                                           .path = path,
                                           .headers = lines,
                                           .skip_checks = true});
    const char *id = http_header(response, "X-Service-Request-Id");

    cr_assert(id != NULL && strlen(id) == 36);
    memcpy(response->request_id, id, 37);
    return response;
}

static struct client_response *get(const struct dashboard_session *session)
{
    return get_from("192.0.2.1", session->token, "/data/policy");
}

/* Sends `tries` requests one after the other, from each session in turn; how many were served. */
static int ask_often(const struct dashboard_session *sessions, int n_seats, int tries)
{
    int served = 0;

    for (int i = 0; i < tries; i++) {
        struct client_response *response = get(&sessions[i % n_seats]);

        if (response->status == 200) {
            served++;
            continue;
        }
        expect_error(response, 429, "rate_limit_exceeded", NULL);
        cr_assert_geq(http_header_integer(response, "Retry-After"), 1);
    }
    return served;
}

static int64_t seconds_since(int64_t began_us)
{
    return (clock_mono_us() - began_us) / 1000000 + 1;
}

Test(dashboard_limits, a_session_has_its_share_and_others_theirs)
{
    struct dashboard_session one, other;
    int64_t began_us;
    struct org org;
    int served;

    org_new(&org);
    dashboard_client_new_user(&one, org.id, "owner");
    dashboard_client_new_session(&one, &other);
    start();
    began_us = clock_mono_us();
    served = ask_often(&one, 1, TRIES);
    cr_assert_geq(served, BURST);
    cr_assert_leq(served, BURST + PER_SECOND * seconds_since(began_us));
    cr_assert_eq(replica_metric(&dashboard, LIMITED "{by=\"session\"}"), TRIES - served);
    expect_status(get(&other), 200);
    replica_stop(&dashboard);
}

/* Each session stays below its own limit, even on a slow machine. */
Test(dashboard_limits, an_organization_has_its_share_and_others_theirs)
{
    enum { SIGNED_IN = 12 };
    struct dashboard_session sessions[SIGNED_IN], other;
    struct org org, elsewhere;
    int64_t began_us;
    int served;

    org_new(&org);
    org_new(&elsewhere);
    dashboard_client_new_user(&sessions[0], org.id, "owner");
    dashboard_client_new_user(&other, elsewhere.id, "owner");
    for (int i = 1; i < SIGNED_IN; i++)
        dashboard_client_new_session(&sessions[0], &sessions[i]);
    start();
    began_us = clock_mono_us();
    served = ask_often(sessions, SIGNED_IN, 6 * TRIES);
    cr_assert_geq(served, SESSIONS * BURST);
    cr_assert_leq(served, SESSIONS * (BURST + 1 + PER_SECOND * seconds_since(began_us)));
    cr_assert_gt(replica_metric(&dashboard, LIMITED "{by=\"organization\"}"), 0);
    expect_status(get(&other), 200);
    replica_stop(&dashboard);
}

/* A change that changes nothing: there is no such key. */
static struct client_response *revoke_none(const struct dashboard_session *session)
{
    const char *base = format("http://127.0.0.1:%d", dashboard.port);
    const char *const headers[] = {
        format("Cookie: session=%s", session->token), format("X-CSRF-Token: %s", session->csrf),
        format("Origin: %s", base), "Content-Type: application/json", NULL};

    return http_send(
        &(struct client_request){.method = "POST",
                                 .base = base,
                                 .path = "/data/keys/0190a000-0000-7000-8000-000000000001/revoke",
                                 .body = "{}",
                                 .headers = headers,
                                 .skip_checks = true});
}

/* Each change leaves an entry that stays for ever. */
Test(dashboard_limits, an_organization_makes_few_changes_and_others_theirs)
{
    enum { CHANGES = 300, MORE = 60 };
    struct dashboard_session session, other;
    struct org org, elsewhere;
    int64_t began_us;
    int made = 0;

    org_new(&org);
    org_new(&elsewhere);
    dashboard_client_new_user(&session, org.id, "owner");
    dashboard_client_new_user(&other, elsewhere.id, "owner");
    replica_start_of(&dashboard, "dashboard",
                     (const char *const[]){"DASHBOARD_REQUESTS_PER_SECOND=10000",
                                           "TRUSTED_PROXIES=127.0.0.1/32", NULL});
    began_us = clock_mono_us();
    for (int i = 0; i < CHANGES + MORE; i++) {
        const struct client_response *response = revoke_none(&session);

        cr_assert(response->status == 404 || response->status == 429, "%d", response->status);
        made += response->status == 404;
    }
    cr_assert_geq(made, CHANGES);
    cr_assert_leq(made, CHANGES + seconds_since(began_us));
    cr_assert_eq(replica_metric(&dashboard, LIMITED "{by=\"changes\"}"), CHANGES + MORE - made);
    expect_status(get(&session), 200);
    expect_status(revoke_none(&other), 404);
    replica_stop(&dashboard);
}

Test(dashboard_limits, forged_sessions_are_limited_only_for_their_address)
{
    enum { STRANGERS_MAX = 300 };
    struct dashboard_session session;
    struct org org;
    int refused = 0;

    org_new(&org);
    dashboard_client_new_user(&session, org.id, "owner");
    start();
    expect_status(get_from("2001:db8::1", session.token, "/data/policy"), 200);
    for (int i = 0; i < 2 * STRANGERS_MAX + 1; i++) {
        struct client_response *response =
            get_from(format("2001:db8::%x", i), format("%043d", i), "/data/policy");

        cr_assert(response->status == 401 || response->status == 429, "%d", response->status);
        refused += response->status == 429;
    }
    cr_assert_gt(refused, 0, "one of two minutes is full");
    cr_assert_eq(replica_metric(&dashboard, LIMITED "{by=\"address\"}"), refused);
    expect_status(get_from("2001:db8::1", session.token, "/data/policy"), 200);
    expect_status(get_from("2001:db8:0:1::1", format("%043d", 0), "/data/policy"), 401);
    replica_stop(&dashboard);
}

/* Requests a large page of the inbox, and returns when it begins to arrive, without reading it. */
static void ask_for_much(struct http_connection *reader, const struct dashboard_session *session)
{
    const char *request = format("GET /data/conversations?per_page=100 HTTP/1.1\r\nHost: x\r\n"
                                 "Cookie: session=%s\r\n\r\n",
                                 session->token);

    cr_assert(http_connection_open_narrow(reader, dashboard.port));
    cr_assert(http_connection_send(reader, request, strlen(request)));
    cr_assert_eq(poll(&(struct pollfd){.fd = reader->fd, .events = POLLIN}, 1, TIMEOUT_MS), 1);
}

static bool is_served_again(void *session)
{
    return get(session)->status == 200;
}

Test(dashboard_limits, unread_responses_count_as_in_flight)
{
    struct dashboard_session session, other;
    struct http_connection readers[AT_ONCE];
    struct org org;

    org_new(&org);
    large_page_make(&org, "120");
    dashboard_client_new_user(&session, org.id, "owner");
    dashboard_client_new_session(&session, &other);
    start();
    for (int i = 0; i < AT_ONCE; i++)
        ask_for_much(&readers[i], &session);
    expect_error(get(&session), 429, "rate_limit_exceeded", NULL);
    expect_status(get(&other), 200);
    for (int i = 0; i < AT_ONCE; i++)
        http_connection_close(&readers[i]);
    cr_assert(stack_wait(is_served_again, &session, TIMEOUT_MS));
    replica_stop(&dashboard);
}

/* -- signing in while others guess ------------------------------------------------------------- */

#define BAD_SIGN_IN                                                                                \
    "POST /data/session HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\n"                               \
    "Content-Type: application/json\r\nContent-Length: 1\r\n\r\nx"

enum { GUESSERS = 12, NETWORKS = 40, ARRIVALS = 5 };

static atomic_bool is_over;
static atomic_int guesses;

static struct client_response *try_to_sign_in(const char *address, const char *email,
                                              const char *password)
{
    const char *const lines[] = {format("Origin: http://127.0.0.1:%d", dashboard.port),
                                 format("X-Forwarded-For: %s", address), NULL};

    return http_send(&(struct client_request){
        .method = "POST",
        .base = format("http://127.0.0.1:%d", dashboard.port),
        .path = "/data/session",
        .body = format("{\"email\":\"%s\",\"password\":\"%s\"}", email, password),
        .headers = lines,
        .skip_checks = true});
}

static void *guess(void *unused)
{
    while (!atomic_load(&is_over)) {
        int n = atomic_fetch_add(&guesses, 1);

        (void)try_to_sign_in(format("10.%d.0.%d", n % NETWORKS, n / NETWORKS % 250),
                             format("%d@example.org", n), "a guess of length");
    }
    return NULL;
}

Test(dashboard_limits, guesses_from_many_networks_delay_no_user_of_another)
{
    pthread_t threads[GUESSERS];
    struct dashboard_session session;
    struct org org;

    org_new(&org);
    dashboard_client_new_user(&session, org.id, "owner");
    start();
    for (int i = 0; i < GUESSERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, guess, NULL), 0);
    while (atomic_load(&guesses) < 2 * NETWORKS)
        poll(NULL, 0, 1);
    for (int i = 0; i < ARRIVALS; i++) {
        struct client_response *response =
            try_to_sign_in(format("192.0.%d.1", i), session.email, session.password);

        cr_expect_eq(response->status, 200, "%d: %s", response->status, response->body);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < GUESSERS; i++)
        pthread_join(threads[i], NULL);
    replica_stop(&dashboard);
}

/* More sign-ins from one network than may run and wait: with nothing to hash, none is refused. */
Test(dashboard_limits, requests_without_a_hash_take_no_place_at_the_door)
{
    enum { BAD = 50 };
    struct http_connection connections[BAD];

    start();
    for (int i = 0; i < BAD; i++) {
        cr_assert(http_connection_open(&connections[i], dashboard.port));
        connections[i].is_private = true;
    }
    for (int i = 0; i < BAD; i++)
        cr_assert(http_connection_send(&connections[i], BAD_SIGN_IN, sizeof(BAD_SIGN_IN) - 1));
    for (int i = 0; i < BAD; i++) {
        struct connection_response response;

        cr_assert(http_connection_receive(&connections[i], &response, TIMEOUT_MS));
        cr_expect_eq(response.status, 400, "%d: %s", response.status, response.body);
        http_connection_close(&connections[i]);
    }
    replica_stop(&dashboard);
}
