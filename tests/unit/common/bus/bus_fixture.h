/*
 * bus_fixture - up to three clients of a real nats-server. Header-only.
 *
 * What     A test starts the server and opens its clients; pump() and the macros around it run
 *          all of them until the expected condition holds. A test may have a folder of its own for
 *          files, and look into the log.
 * Owns     free_clients() and stop_server() end what the test has not.
 * Fails    Fails the test.
 */
#ifndef TESTS_UNIT_COMMON_BUS_BUS_FIXTURE_H
#define TESTS_UNIT_COMMON_BUS_BUS_FIXTURE_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/bus/bus.h"
#include "tests/support/nats_server.h"

#define BODY "{\"name\":\"value\"}"

static struct nats_server server;

static inline void start_server(void)
{
    nats_server_prepare(&server, NULL);
    nats_server_start(&server);
}

static inline void stop_server(void)
{
    nats_server_stop(&server);
}

static inline struct bus *connect_to(const char *url)
{
    return bus_connect(&(struct bus_options){.url = url, .name = "test"});
}

/* Pumps all clients until `condition`, which may have effects, holds once; false when it never
   does.
 */
#define WITHIN(ms, condition)                                                                      \
    ({                                                                                             \
        int64_t until_us_ = clock_mono_us() + (ms)*1000;                                           \
        bool holds_ = (condition);                                                                 \
        while (!holds_ && clock_mono_us() < until_us_) {                                           \
            pump();                                                                                \
            holds_ = (condition);                                                                  \
        }                                                                                          \
        holds_;                                                                                    \
    })
#define EVENTUALLY(condition) WITHIN(30000, condition)

static struct bus *clients[3];

static inline void pump(void)
{
    for (int i = 0; i < 3; i++) {
        if (clients[i] != NULL)
            bus_wait(clients[i], 2);
    }
}

static inline struct bus *open_end(int i)
{
    clients[i] = connect_to(server.url);
    return clients[i];
}

static inline void free_clients(void)
{
    for (int i = 0; i < 3; i++) {
        bus_free(clients[i]);
        clients[i] = NULL;
    }
}

static inline bool is(struct str s, const char *text)
{
    return str_equal(s, str_of(text));
}

/* The replies that an inbox received. */
struct replies {
    atomic_int n;
    uint64_t handle[16];
    enum bus_reply_kind kind[16];
    struct bus_message *message[16];
};

static inline void on_reply(void *closure, uint64_t handle, enum bus_reply_kind kind,
                            struct bus_message *message)
{
    struct replies *r = closure;
    int i = atomic_load(&r->n);
    r->handle[i] = handle;
    r->kind[i] = kind;
    r->message[i] = message;
    atomic_store(&r->n, i + 1);
}

static inline bool is_always_awaited(void *closure, uint64_t handle)
{
    return true;
}

static inline void count_notice(void *closure, struct bus_message *message)
{
    if (is(bus_message_body(message), BODY))
        atomic_fetch_add((atomic_int *)closure, 1);
}

/* -- files and the log ------------------------------------------------------------------------- */

static char folder[32];
static FILE *log_lines;

static inline void open_folder(void)
{
    strcpy(folder, "/tmp/bus-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static inline void remove_folder(void)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

/* The path of a file in the folder, until seven more are asked for. */
static inline const char *file(const char *name)
{
    static char paths[8][64];
    static int n;
    char *path = paths[n++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

/* From now on standard error goes into a file. */
static inline void keep_log(void)
{
    log_lines = tmpfile();
    cr_assert_not_null(log_lines);
    cr_assert(dup2(fileno(log_lines), STDERR_FILENO) >= 0);
    cr_assert(fcntl(STDERR_FILENO, F_SETFL, O_APPEND) == 0);
}

/* How many lines since then have that part. */
static inline int n_logged(const char *part)
{
    char line[4096];
    int n = 0;

    rewind(log_lines);
    while (fgets(line, sizeof(line), log_lines) != NULL)
        n += strstr(line, part) != NULL;
    return n;
}

#endif
