#include "tests/faults/workload_requests.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/faults/ask.h"
#include "tests/faults/fault_plan.h"
#include "tests/faults/history.h"
#include "tests/support/known.h"

enum {
    ON_TIME_US = 100 * 1000,
    RESPONSE_MS = 12000, /* no response takes longer, unless its gateway is stopped */
    KNOWN_MAX = 100000,  /* only the latest are kept */
    KEYS = 4,            /* different attributes that are updated */
    RECENT = 300,        /* most requests are for one of this many latest conversations */
    LATEST = 8,          /* and many for one of this many */
    PAGES_MAX = 12,
    OK = 200,
    CREATED = 201, /* or OK, if it already exists */
    NOT_FOUND = 404,
    CONFLICT = 409,
};

static struct {
    const struct org *orgs;
    uint64_t seed;
    atomic_bool stopping;
    atomic_uint n_external[WORKLOAD_ORGS], n_races[WORKLOAD_ORGS];
    struct known_list known[WORKLOAD_ORGS]; /* in the order of their responses */
} load;

/* A request being built. */
struct turn {
    struct http_connection *connections; /* one to each gateway */
    long long n;
    uint64_t random;
    int org;
    int expects; /* status */
    int n_failed;
    struct workload_answer answer;
    struct ask it;
    char path[512], body[2048];
};

static _Thread_local const struct workload_answer *current;

/* -- what is known --------------------------------------------------------------------------- */

static unsigned draw(struct turn *turn, unsigned n)
{
    return (unsigned)(fault_random(&turn->random) % n);
}

/* Usually a recent one, so that several requests meet at one conversation. */
static bool pick_known(struct turn *turn, int org, struct known *out)
{
    const unsigned choice = draw(turn, 1U << 30), kind = draw(turn, 4);
    const unsigned among = kind == 0 ? KNOWN_MAX : kind == 1 ? LATEST : RECENT;

    return known_pick(&load.known[org], choice, among, out);
}

unsigned workload_external_ids(int org)
{
    return load.n_external[org];
}

unsigned workload_races(int org)
{
    return load.n_races[org];
}

/* -- what becomes of a request --------------------------------------------------------------- */

const struct workload_answer *workload_answer(void)
{
    return current;
}

static void note(struct turn *turn, const char *operation, const struct ask *asked,
                 struct response *response, json_t *args)
{
    struct workload_answer *answer = &turn->answer;

    answer->is_expected =
        response->status == turn->expects || (turn->expects == CREATED && response->status == OK);
    turn->n_failed += !answer->is_expected;
    ask_note(operation, turn->org, asked, response, args);
    answer->is_on_time = false;
}

/* -- creates --------------------------------------------------------------------------------- */

static void create(struct turn *turn, unsigned number, unsigned contact, const char *why)
{
    struct response response;
    const char *id;

    snprintf(turn->path, sizeof(turn->path), "/conversations");
    snprintf(turn->body, sizeof(turn->body),
             "{\"external_id\":\"x-%u\",\"from\":{\"external_id\":\"c-%u\"},"
             "\"custom_attributes\":{\"kind\":\"%s\",\"born\":%lld}}",
             number, contact, number % 2 == 0 ? "even" : "odd", turn->n);
    turn->expects = strcmp(why, "conflict") == 0 ? CONFLICT : CREATED;
    turn->it.method = "POST";
    turn->it.body = turn->body;
    response = ask(&turn->it);
    id = text_of(response.body, "id");
    if ((response.status == 200 || response.status == 201) && id[0] != '\0')
        known_add(&load.known[turn->org], id, number);
    note(turn, "create", &turn->it, &response,
         json_pack("{s:o, s:o, s:s, s:I}", "ext", json_sprintf("x-%u", number), "contact",
                   json_sprintf("c-%u", contact), "why", why, "born", (json_int_t)turn->n));
}

static void create_new(struct turn *turn)
{
    const unsigned number = atomic_fetch_add(&load.n_external[turn->org], 1);

    create(turn, number, number / WORKLOAD_PER_CONTACT, "new");
}

/* Repeats a recent one, whatever its outcome. */
static void create_again(struct turn *turn)
{
    const unsigned n = load.n_external[turn->org];
    const unsigned number = n == 0 ? 0 : n - 1 - draw(turn, n < RECENT ? n : RECENT);

    create(turn, number, number / WORKLOAD_PER_CONTACT, "again");
}

/* Sends two equal creates, or two updates of one conversation, through both gateways at the same
   moment. */
static void race(struct turn *turn, const char *const bodies[WORKLOAD_GATEWAYS],
                 struct ask asked[WORKLOAD_GATEWAYS], struct response responses[WORKLOAD_GATEWAYS])
{
    for (int i = 0; i < WORKLOAD_GATEWAYS; i++) {
        asked[i] = turn->it;
        asked[i].gateway = i;
        asked[i].connection = &turn->connections[i];
        asked[i].body = bodies[i];
        responses[i] = ask_begin(&asked[i]);
    }
    ask_end_several(asked, responses, WORKLOAD_GATEWAYS);
}

static void create_racing(struct turn *turn)
{
    const unsigned number = atomic_fetch_add(&load.n_races[turn->org], 1);
    struct response responses[WORKLOAD_GATEWAYS];
    struct ask asked[WORKLOAD_GATEWAYS];

    snprintf(turn->path, sizeof(turn->path), "/conversations");
    snprintf(turn->body, sizeof(turn->body),
             "{\"external_id\":\"race-%u\",\"from\":{\"external_id\":\"racer-%u\"}}", number,
             number / WORKLOAD_PER_CONTACT);
    turn->expects = CREATED;
    turn->it.method = "POST";
    race(turn, (const char *const[]){turn->body, turn->body}, asked, responses);
    for (int i = 0; i < WORKLOAD_GATEWAYS; i++)
        note(turn, "create", &asked[i], &responses[i],
             json_pack("{s:o, s:o, s:s}", "ext", json_sprintf("race-%u", number), "contact",
                       json_sprintf("racer-%u", number / WORKLOAD_PER_CONTACT), "why", "race"));
}

static void create_conflicting(struct turn *turn)
{
    struct known known;

    if (pick_known(turn, turn->org, &known))
        create(turn, known.number, known.number / WORKLOAD_PER_CONTACT + 1, "conflict");
    else
        create_new(turn);
}

/* -- one conversation ------------------------------------------------------------------------ */

static void get(struct turn *turn)
{
    struct response response;
    struct known known;

    if (!pick_known(turn, turn->org, &known)) {
        create_new(turn);
        return;
    }
    snprintf(turn->path, sizeof(turn->path), "/conversations/%s", known.id);
    response = ask(&turn->it);
    note(turn, "get", &turn->it, &response,
         json_pack("{s:s, s:o}", "conversation", known.id, "ext",
                   json_sprintf("x-%u", known.number)));
}

/* A conversation of the other organization must not be found. */
static void get_across(struct turn *turn)
{
    struct response response;
    struct known known;

    if (!pick_known(turn, 1 - turn->org, &known)) {
        create_new(turn);
        return;
    }
    turn->expects = NOT_FOUND;
    snprintf(turn->path, sizeof(turn->path), "/conversations/%s", known.id);
    if (draw(turn, 2) == 0) {
        turn->it.method = "PUT";
        snprintf(turn->body, sizeof(turn->body), "{\"custom_attributes\":{\"k0\":%lld}}", turn->n);
        turn->it.body = turn->body;
        turn->it.key = load.orgs[turn->org].full_key;
    }
    response = ask(&turn->it);
    note(turn, turn->it.body != NULL ? "update" : "get", &turn->it, &response,
         json_pack("{s:s, s:b}", "conversation", known.id, "across", 1));
}

static void update(struct turn *turn)
{
    const unsigned key = draw(turn, KEYS), other = draw(turn, KEYS);
    json_t *set;
    struct response response;
    struct known known;

    if (!pick_known(turn, turn->org, &known)) {
        create_new(turn);
        return;
    }
    set = json_pack("{s:I}", (char[]){'k', (char)('0' + key), '\0'}, (json_int_t)turn->n);
    if (other != key && draw(turn, 3) == 0)
        json_object_set_new(set, (char[]){'k', (char)('0' + other), '\0'},
                            draw(turn, 2) == 0 ? json_null() : json_integer(turn->n));
    char *text = json_dumps(set, JSON_COMPACT);

    snprintf(turn->path, sizeof(turn->path), "/conversations/%s", known.id);
    snprintf(turn->body, sizeof(turn->body), "{\"custom_attributes\":%s}", text);
    free(text);
    turn->it.method = "PUT";
    turn->it.body = turn->body;
    response = ask(&turn->it);
    note(turn, "update", &turn->it, &response,
         json_pack("{s:s, s:o}", "conversation", known.id, "set", set));
}

/* Neither update may be lost. */
static void update_racing(struct turn *turn)
{
    struct response responses[WORKLOAD_GATEWAYS];
    struct ask asked[WORKLOAD_GATEWAYS];
    char other[128];
    struct known known;

    if (!pick_known(turn, turn->org, &known)) {
        create_new(turn);
        return;
    }
    snprintf(turn->path, sizeof(turn->path), "/conversations/%s", known.id);
    snprintf(turn->body, sizeof(turn->body), "{\"custom_attributes\":{\"r0\":%lld}}", turn->n);
    snprintf(other, sizeof(other), "{\"custom_attributes\":{\"r1\":%lld}}", turn->n);
    turn->it.method = "PUT";
    race(turn, (const char *const[]){turn->body, other}, asked, responses);
    for (int i = 0; i < WORKLOAD_GATEWAYS; i++)
        note(turn, "update", &asked[i], &responses[i],
             json_pack("{s:s, s:{s:I}}", "conversation", known.id, "set", i == 0 ? "r0" : "r1",
                       (json_int_t)turn->n));
}

/* -- lists ----------------------------------------------------------------------------------- */

struct walk {
    unsigned contact;
    const char *filter; /* "even", "odd" or NULL */
    int per_page, page;
    char cursor[1024];
};

static void search_page(struct turn *turn, struct walk *walk)
{
    struct response response;
    char more[128] = "";

    if (walk->filter != NULL)
        snprintf(more, sizeof(more),
                 ",{\"field\":\"custom_attributes.kind\",\"operator\":\"=\",\"value\":\"%s\"}",
                 walk->filter);
    snprintf(turn->path, sizeof(turn->path), "/conversations/search");
    snprintf(turn->body, sizeof(turn->body),
             "{\"query\":{\"operator\":\"AND\",\"value\":[{\"field\":\"contact.external_id\","
             "\"operator\":\"=\",\"value\":\"c-%u\"}%s]},\"pagination\":{\"per_page\":%d%s%s%s}}",
             walk->contact, more, walk->per_page,
             walk->cursor[0] != '\0' ? ",\"starting_after\":\"" : "", walk->cursor,
             walk->cursor[0] != '\0' ? "\"" : "");
    turn->it.method = "POST";
    turn->it.body = turn->body;
    response = ask(&turn->it);
    snprintf(walk->cursor, sizeof(walk->cursor), "%s",
             json_string_value(json_at(response.body, "pages.next.starting_after")) != NULL
                 ? json_string_value(json_at(response.body, "pages.next.starting_after"))
                 : "");
    note(turn, "search", &turn->it, &response,
         json_pack("{s:I, s:i, s:o, s:s?, s:i}", "walk", (json_int_t)turn->n, "page", walk->page++,
                   "contact", json_sprintf("c-%u", walk->contact), "kind", walk->filter, "per_page",
                   walk->per_page));
    turn->answer.due_us = response.end_us; /* due time of the next page */
}

/* Page after page, until there are no more or one fails. */
static void search(struct turn *turn)
{
    static const int sizes[] = {2, 3, 50};
    struct walk walk = {.per_page = sizes[draw(turn, 3)]};
    const unsigned filter = draw(turn, 4);
    struct known known;

    if (!pick_known(turn, turn->org, &known)) {
        create_new(turn);
        return;
    }
    walk.contact = known.number / WORKLOAD_PER_CONTACT;
    walk.filter = filter == 0 ? "even" : filter == 1 ? "odd" : NULL;
    do
        search_page(turn, &walk);
    while (walk.cursor[0] != '\0' && walk.page < PAGES_MAX && !load.stopping);
}

static void list_audit(struct turn *turn)
{
    struct response response;

    snprintf(turn->path, sizeof(turn->path), "/audit?per_page=%u", 1 + draw(turn, 10));
    response = ask(&turn->it);
    note(turn, "audit", &turn->it, &response, json_object());
}

/* -- what needs no conversation -------------------------------------------------------------- */

static void ping(struct turn *turn)
{
    struct response response;
    const int reads = draw(turn, 2) == 0;

    turn->it.key = reads ? load.orgs[turn->org].read_key : load.orgs[turn->org].full_key;
    snprintf(turn->path, sizeof(turn->path), "/ping");
    response = ask(&turn->it);
    note(turn, "ping", &turn->it, &response, json_pack("{s:s}", "scope", reads ? "read" : "full"));
}

/* A faulty request, and the status of its response. */
static const struct refused {
    const char *operation, *method, *path, *header, *body;
    int status;
    char key; /* 'r', 'f', or 'n' for an unknown key */
} refused[] = {
    {"create", "POST", "/conversations", NULL, "{\"external_id\":", 400, 'f'},
    {"create", "POST", "/conversations", NULL, "{\"external_id\":\"y\"}", 400, 'f'},
    {"create", "POST", "/conversations", NULL,
     "{\"external_id\":\"" WORKLOAD_DENIED "\",\"from\":{\"external_id\":\"" WORKLOAD_DENIED "\"}}",
     403, 'r'},
    {"create", "POST", "/conversations", "Content-Type: text/plain", "{}", 415, 'f'},
    {"get", "GET", "/conversations/01890000-0000-7000-8000-000000000000", NULL, NULL, 404, 'r'},
    {"search", "POST", "/conversations/search", NULL, "{\"query\":{}}", 400, 'r'},
    {"audit", "GET", "/audit?per_page=0", NULL, NULL, 400, 'r'},
    {"unknown", "GET", "/nothing", NULL, NULL, 404, 'r'},
    {"unknown", "DELETE", "/ping", NULL, NULL, 405, 'f'},
    {"ping", "GET", "/ping", "Accept: text/html", NULL, 406, 'r'},
    {"ping", "GET", "/ping", NULL, NULL, 401, 'n'},
};

static void be_refused(struct turn *turn)
{
    const struct refused *shape = &refused[draw(turn, ARRAY_SIZE(refused))];
    struct response response;

    snprintf(turn->path, sizeof(turn->path), "%s", shape->path);
    turn->it.method = shape->method;
    turn->it.header = shape->header;
    turn->it.body = shape->body;
    turn->it.key = shape->key == 'f'   ? load.orgs[turn->org].full_key
                   : shape->key == 'r' ? load.orgs[turn->org].read_key
                                       : "svc_live_nobody";
    turn->expects = shape->status;
    response = ask(&turn->it);
    note(turn, shape->operation, &turn->it, &response,
         json_pack("{s:i}", "refused", shape->status));
}

/* -- turns ----------------------------------------------------------------------------------- */

static const struct {
    unsigned share;
    void (*take)(struct turn *turn);
    const char *operation;
} kinds[] = {
    {14, create_new, "create"}, {6, create_again, "create"},  {3, create_conflicting, "conflict"},
    {22, get, "get"},           {3, get_across, "across"},    {15, update, "update"},
    {10, search, "search"},     {4, list_audit, "audit"},     {7, ping, "ping"},
    {7, be_refused, "refused"}, {5, create_racing, "create"}, {4, update_racing, "update"},
};

int workload_turn(struct http_connection connections[WORKLOAD_GATEWAYS], long long n,
                  int64_t due_us)
{
    struct turn turn = {
        .connections = connections,
        .n = n,
        .random = load.seed ^ ((uint64_t)n << 20),
        .expects = OK,
        .answer = {.due_us = due_us, .is_on_time = clock_mono_us() - due_us < ON_TIME_US}};
    unsigned chosen = draw(&turn, 100), i = 0;

    turn.org = (int)draw(&turn, WORKLOAD_ORGS);
    turn.it = (struct ask){.gateway = (int)draw(&turn, WORKLOAD_GATEWAYS),
                           .key = load.orgs[turn.org].full_key,
                           .method = "GET",
                           .path = turn.path,
                           .timeout_ms = RESPONSE_MS};
    while (chosen >= kinds[i].share)
        chosen -= kinds[i++].share;
    turn.it.connection = &connections[turn.it.gateway];
    turn.answer.operation = kinds[i].operation;
    current = &turn.answer;
    kinds[i].take(&turn);
    current = NULL;
    return turn.n_failed;
}

void workload_requests_open(const struct org orgs[WORKLOAD_ORGS], uint64_t seed)
{
    load.orgs = orgs;
    load.seed = seed;
    load.stopping = false;
    for (int i = 0; i < WORKLOAD_ORGS; i++)
        known_init(&load.known[i], KNOWN_MAX);
}

void workload_requests_stop(void)
{
    load.stopping = true;
}

void workload_requests_close(void)
{
    for (int i = 0; i < WORKLOAD_ORGS; i++)
        known_release(&load.known[i]);
}
