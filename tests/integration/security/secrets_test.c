/* Searches for secrets everywhere they could have leaked to. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ascii.h"
#include "common/crypto/crypto.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/nats_client.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(secrets, .init = stack_have_alone);

enum { FILE_MAX = 256 * 1024 * 1024, PROCESSES_MAX = 64 };

/* A file's bytes; NULL when it cannot be read. Free them. */
static char *read_whole(const char *path, size_t *n)
{
    FILE *file = fopen(path, "re");
    size_t capacity = 1 << 16;
    char *bytes;

    *n = 0;
    if (file == NULL)
        return NULL;
    bytes = malloc(capacity);
    while (bytes != NULL && !feof(file) && !ferror(file) && *n < FILE_MAX) {
        *n += fread(bytes + *n, 1, capacity - *n, file);
        if (*n == capacity)
            bytes = realloc(bytes, capacity *= 2);
    }
    fclose(file);
    cr_assert_not_null(bytes);
    cr_assert_lt(*n, FILE_MAX, "%s is too long to be searched", path);
    return bytes;
}

/* What the secret is, and the part of it that must appear nowhere: what follows the prefix. */
struct plant {
    const char *what, *text;
};

static bool holds(const char *bytes, size_t n, const struct plant *plant)
{
    return memmem(bytes, n, plant->text, strlen(plant->text)) != NULL;
}

static void expect_free_of(const char *where, const char *bytes, size_t n,
                           const struct plant *plants, size_t n_plants)
{
    for (size_t i = 0; i < n_plants; i++)
        cr_expect_not(holds(bytes, n, &plants[i]), "%s is in %s", plants[i].what, where);
}

static void expect_file_free_of(const char *path, const struct plant *plants, size_t n_plants)
{
    size_t n;
    char *bytes = read_whole(path, &n);

    cr_expect_not_null(bytes, "%s cannot be read", path);
    if (bytes != NULL)
        expect_free_of(path, bytes, n, plants, n_plants);
    free(bytes);
}

/* -- the places -------------------------------------------------------------------------------- */

typedef void (*visit_fn)(const char *name, const struct plant *plants, size_t n);

/* Calls visit() for every file in a folder of $RUN_DIR; returns how many there are. */
static int visit_folder(const char *folder, visit_fn visit, const struct plant *plants, size_t n)
{
    DIR *directory = opendir(format("%s/%s", stack_setting("RUN_DIR"), folder));
    const struct dirent *entry;
    int count = 0;

    cr_assert_not_null(directory, "%s", folder);
    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        visit(entry->d_name, plants, n);
        count++;
    }
    closedir(directory);
    return count;
}

static void visit_log(const char *name, const struct plant *plants, size_t n)
{
    expect_file_free_of(format("%s/log/%s", stack_setting("RUN_DIR"), name), plants, n);
}

static void visit_process(const char *name, const struct plant *plants, size_t n)
{
    int pid = (int)stack_pid(name);

    expect_file_free_of(format("/proc/%d/cmdline", pid), plants, n);
    expect_file_free_of(format("/proc/%d/environ", pid), plants, n);
}

static void visit_limits(const char *name, const struct plant *plants, size_t n)
{
    size_t length;
    char *limits;
    const char *line;
    char soft[32], hard[32];

    /* These two servers are not our programs, and no customer's key reaches them. */
    if (strcmp(name, "postgres") == 0 || strcmp(name, "nats") == 0)
        return;
    limits = read_whole(format("/proc/%d/limits", (int)stack_pid(name)), &length);
    cr_assert_not_null(limits, "%s", name);
    line = memmem(limits, length, "Max core file size", 18);
    cr_assert(line != NULL && sscanf(line + 18, "%31s %31s", soft, hard) == 2, "%s", name);
    cr_expect(strcmp(soft, "0") == 0 && strcmp(hard, "0") == 0, "%s may leave a core dump", name);
    free(limits);
}

/* The metrics of every process. */
static void visit_metrics(const struct plant *plants, size_t n)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    const size_t count = replicas_of_stack(replicas);

    for (size_t i = 0; i < count; i++) {
        const struct client_response *const response = replica_ask(&replicas[i], "/metrics");

        cr_assert_eq(response->status, 200, "%s", replicas[i].name);
        expect_free_of(format("the metrics of %s", replicas[i].name), response->body,
                       response->body_n, plants, n);
    }
}

static void expect_database_free_of(const char *known, const struct plant *plants, size_t n)
{
    static const char tables[] =
        "SELECT count(*) FROM pg_tables AS t, LATERAL query_to_xml(format("
        "  'SELECT 1 AS found FROM %I.%I AS r WHERE r::text LIKE %L', schemaname, tablename,"
        "  '%' || $1 || '%'), false, false, '') AS x"
        " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        "   AND x::text LIKE '%found%'";

    /* The query does find text that is there. */
    cr_assert_gt(sql_integer(tables, known, NULL), 0);
    for (size_t i = 0; i < n; i++)
        cr_expect_eq(sql_integer(tables, plants[i].text, NULL), 0, "%s is in the database",
                     plants[i].what);
}

/* -- the uses ---------------------------------------------------------------------------------- */

static void expect_answer_free_of(const struct client_response *response,
                                  const struct plant *plants)
{
    expect_free_of(response->about, response->head, response->head_n, plants, 1);
    expect_free_of(response->about, response->body, response->body_n, plants, 1);
}

static struct client_response *send_with(const char *path, const char *key, const char *header)
{
    const char *headers[] = {header, NULL};

    return http_send(
        &(struct client_request){.method = "GET", .path = path, .key = key, .headers = headers});
}

/* Uses the key as a credential, in right and wrong forms. Returns the last answer. */
static struct client_response *use(const struct plant *plants, const char *token)
{
    struct client_response *responses[] = {
        send_with("/ping", token, NULL),
        send_with("/nothing", token, NULL),
        send_with("/conversations/01890000-0000-7000-8000-000000000000", token, NULL),
        send_with("/ping", token, "Accept: text/html"),
        api_create(token, "{\"external_id\":\"planted\",\"from\":{\"external_id\":\"c\"}}"),
        api_create(token, "{\"external_id\":\"planted\",\"from\":{\"external_id\":\"d\"}}"),
        api_create(token, "{"),
        send_with("/ping", format("%s ", token), NULL),
        send_with("/ping", format("x%s", token), NULL),
        send_with("/ping", NULL, format("Authorization: Basic %s", token)),
        send_with("/ping", NULL, format("X-Api-Key: %s", token)),
        send_with("/ping", NULL, format("Cookie: key=%s", token)),
        send_with("/audit?per_page=1", token, NULL),
    };
    size_t n = ARRAY_SIZE(responses);

    for (size_t i = 0; i < n; i++)
        expect_answer_free_of(responses[i], plants);
    return responses[n - 1];
}

/* Puts the key where it does not belong. It may then cross the bus as part of a request and be
   refused, but nothing stores or repeats it. */
static void misuse(const struct plant *plants, const char *token)
{
    struct client_response *responses[] = {
        send_with(format("/ping?key=%s", token), token, NULL),
        send_with(format("/audit?key=%s", token), token, NULL),
        send_with(format("/%s", token), token, NULL),
        send_with(format("/conversations/%s", token), token, NULL),
        send_with("/ping", token, format("X-Forwarded-For: %s", token)),
        send_with("/ping", token, format("traceparent: %s", token)),
        send_with("/ping", token, format("Accept: %s", token)),
        api_post(token, "/conversations",
                 format("{\"external_id\":\"m\",\"from\":{\"external_id\":\"c\",\"type\":\"%s\"}}",
                        token)),
        api_post(NULL, "/conversations", format("{\"api_key\":\"%s\"}", token)),
    };

    for (size_t i = 0; i < ARRAY_SIZE(responses); i++)
        expect_answer_free_of(responses[i], plants);
}

static const char *member(json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    cr_assert(text != NULL && strlen(text) > 12, "%s", name);
    return format("%s", text);
}

static void hash_of(const char *token, char text[2 * SHA256_BYTES + 1])
{
    uint8_t hash[SHA256_BYTES];

    token_hash(str_of(token), hash);
    hex_write(hash, sizeof(hash), text);
}

Test(secrets, a_key_a_webhooks_secret_and_a_password_are_nowhere_but_with_their_owner)
{
    struct org org;
    struct nats_client capture;
    char hash[2 * SHA256_BYTES + 1];
    struct plant plants[3];
    const char *token;
    json_t *endpoint, *user;

    org_new(&org);
    token = org.full_key;
    hash_of(token, hash);
    endpoint = convctl("webhook", "create", "--org", org.id, "--url", "https://hooks.example.com/x",
                       "--event", "conversation.created", NULL);
    user = convctl("user", "create", "--org", org.id, "--email", "a@example.com", "--role", "owner",
                   NULL);
    plants[0] = (struct plant){"a key", token + strlen("svc_live_")};
    plants[1] = (struct plant){"a webhook's secret", member(endpoint, "secret") + strlen("whsec_")};
    plants[2] = (struct plant){"a password", member(user, "password")};

    nats_client_open_on_all(&capture);
    nats_client_await_text(&capture, use(plants, token)->request_id);
    cr_assert(nats_client_has(&capture, hash), "the key was never looked up");
    expect_free_of("the bus", capture.in, capture.n, plants, 3);
    nats_client_close(&capture);
    misuse(plants, token);
    json_decref(convctl("webhook", "list", "--org", org.id, NULL));

    cr_assert_gt(visit_folder("log", visit_log, plants, 3), 6);
    cr_assert_gt(visit_folder("pids", visit_process, plants, 3), 6);
    visit_metrics(plants, 3);
    expect_database_free_of(org.id, plants, 3);
    json_decref(endpoint);
    json_decref(user);
}

/* -- memory ------------------------------------------------------------------------------------ */

/* Whether the process's writable memory contains the secret. */
static bool memory_holds(pid_t pid, const struct plant *plant)
{
    FILE *maps = fopen(format("/proc/%d/maps", (int)pid), "re");
    FILE *memory = fopen(format("/proc/%d/mem", (int)pid), "re");
    unsigned long long from, to;
    bool is_held = false;
    char line[512], mode[8];

    cr_assert(maps != NULL && memory != NULL);
    while (fgets(line, sizeof(line), maps) != NULL) {
        size_t n;
        char *bytes;

        cr_assert_eq(sscanf(line, "%llx-%llx %7s", &from, &to, mode), 3);
        /* Skips a sanitizer's shadow memory, which is larger than any other mapping. */
        if (mode[0] != 'r' || mode[1] != 'w' || to - from > FILE_MAX ||
            fseeko(memory, (off_t)from, SEEK_SET) != 0)
            continue;
        bytes = malloc(to - from);
        cr_assert_not_null(bytes);
        n = fread(bytes, 1, to - from, memory);
        is_held = is_held || holds(bytes, n, plant);
        free(bytes);
    }
    fclose(maps);
    fclose(memory);
    return is_held;
}

/* When the response is here, the gateway is done with what came before it on the connection. */
static void await_response(struct http_connection *connection, int status)
{
    struct connection_response response;

    cr_assert(http_connection_receive(connection, &response, 10000));
    cr_assert_eq(response.status, status, "%d: %s", response.status, response.body);
}

static void send_in(struct http_connection *connection, const char *path, const char *origin,
                    const char *body)
{
    const char *request =
        format("POST %s HTTP/1.1\r\nHost: x\r\nOrigin: %s\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\n\r\n%s",
               path, origin, strlen(body), body);

    cr_assert(http_connection_send(connection, request, strlen(request)));
}

/* A thousand blanks come before the password, so that the next request on the connection, which is
   read into the same buffer, is too short to overwrite it. */
Test(secrets, in_a_request_that_goes_nowhere_do_not_stay_in_memory)
{
    static const char page[] = "GET /sign-in HTTP/1.1\r\nHost: x\r\n\r\n";
    const struct {
        const char *path, *origin, *rest;
        int status;
    } rows[] = {
        {"/data/session", "http://x", ",}", 400},
        {"/data/session", "http://x", ",\"address\":\"::1\"}", 400},
        {"/data/session", "http://y", "}", 403},
        {"/data/sessions", "http://x", "}", 405},
        {"/data/password", "http://x", "}", 401},
    };
    struct replica dashboard;

    replica_start_of(&dashboard, "dashboard", (const char *const[]){NULL});
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *text = format("planted-%zu-%d", i, (int)getpid());
        const struct plant plant = {"a password", text};
        struct http_connection connection;

        cr_assert(http_connection_open(&connection, dashboard.port));
        connection.is_private = true;
        send_in(&connection, rows[i].path, rows[i].origin,
                format("{%1000s\"password\":\"%s\"%s", "", text, rows[i].rest));
        await_response(&connection, rows[i].status);
        cr_assert(http_connection_send(&connection, page, sizeof(page) - 1));
        await_response(&connection, 200);
        cr_expect_not(memory_holds(dashboard.pid, &plant), "%zu", i);
        http_connection_close(&connection);
    }
    replica_stop(&dashboard);
}

Test(secrets, no_service_leaves_a_core_dump)
{
    cr_assert_gt(visit_folder("pids", visit_limits, NULL, 0), 6);
}

/* Files with a password of ours are for the owner alone, or in a folder that is. */
Test(secrets, are_in_no_file_that_others_may_read)
{
    static const char search[] =
        "cd '%s' && find . -path ./secrets -prune -o -path ./start -prune -o"
        " -path './*postgres' -prune -o -type f -perm /077 -print0 |"
        " xargs -0 grep -lF \"$(cat secrets/bus-gateway)\"";

    cr_expect_eq(system(format("[ \"$(stat -c %%a '%s/secrets' '%s/start' | uniq)\" = 700 ]",
                               stack_setting("RUN_DIR"), stack_setting("RUN_DIR"))),
                 0);
    cr_expect_neq(system(format(search, stack_setting("RUN_DIR"))), 0, "see standard output");
}
