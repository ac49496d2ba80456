#include "common/db/db_hosts.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"

enum {
    LIMIT_ONLY_US = 5 * 1000 * 1000,
    /* If there are other hosts. A busy server takes longer to log in, so a host that kept silent
       gets twice as long the next time. */
    LIMIT_FIRST_US = 1000 * 1000,
    REST_FACTOR = 4,
};

#define PORT "5432" /* if the URL has none */

static const char *const attrs_names[ATTRS_COUNT] = {
    "any", "read-write", "read-only", "primary", "standby", "prefer-standby",
};

/* -- the URL --------------------------------------------------------------------------------- */

/* The value in the URL; "" = none. */
static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    while (options->keyword != NULL && strcmp(options->keyword, keyword) != 0)
        options++;
    return options->keyword != NULL && options->val != NULL ? options->val : "";
}

static enum db_attrs attrs_of(const char *name, bool may_be_standby)
{
    int i = 0;

    if (name[0] == '\0')
        return may_be_standby ? ATTRS_ANY : ATTRS_READ_WRITE;
    while (i < ATTRS_COUNT && strcmp(name, attrs_names[i]) != 0)
        i++;
    return (enum db_attrs)i;
}

static size_t parts_of(const char *list)
{
    size_t n = list[0] != '\0';

    for (; *list != '\0'; list++)
        n += *list == ',';
    return n;
}

static bool has_empty_part(const char *list)
{
    const size_t n = strlen(list);

    return n > 0 && (list[0] == ',' || list[n - 1] == ',' || strstr(list, ",,") != NULL);
}

/* How many hosts to try one by one; 0: libpq must read the lists itself, or finds the hosts
   elsewhere. */
static size_t hosts_in(const char *host, const char *hostaddr, const char *port)
{
    const size_t n = hostaddr[0] != '\0' ? parts_of(hostaddr) : parts_of(host);

    if (n > DB_HOSTS_MAX || has_empty_part(host) || has_empty_part(hostaddr))
        return 0;
    if (host[0] != '\0' && parts_of(host) != n)
        return 0;
    return parts_of(port) < 2 || parts_of(port) == n ? n : 0;
}

/* A copy of a list with one part for each host; NULL: it has at most one part, for all of them. */
static char *list_of(const char *list)
{
    char *copy = parts_of(list) > 1 ? strdup(list) : NULL;

    must(copy != NULL || parts_of(list) < 2);
    return copy;
}

static void cut_lists(struct db_hosts *hosts, const PQconninfoOption *options)
{
    char *host = hosts->lists[0] = list_of(value_of(options, "host"));
    char *hostaddr = hosts->lists[1] = list_of(value_of(options, "hostaddr"));
    char *port = hosts->lists[2] = list_of(value_of(options, "port"));

    for (size_t i = 0; i < hosts->n; i++) {
        struct db_host *at = &hosts->all[i];

        at->host = strsep(&host, ",");
        at->hostaddr = strsep(&hostaddr, ",");
        at->port = strsep(&port, ",");
        if (at->port != NULL && at->port[0] == '\0')
            at->port = PORT;
    }
}

void db_hosts_init(struct db_hosts *hosts, const char *url, bool may_be_standby)
{
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    enum db_attrs attrs;

    must(options != NULL);
    attrs = attrs_of(value_of(options, "target_session_attrs"), may_be_standby);
    *hosts = (struct db_hosts){
        .attrs = attrs,
        .attrs_for_libpq = attrs < ATTRS_COUNT ? attrs_names[ATTRS_ANY] : NULL,
        .n = hosts_in(value_of(options, "host"), value_of(options, "hostaddr"),
                      value_of(options, "port")),
    };
    if (hosts->n == 0) {
        hosts->n = 1;
        hosts->attrs = ATTRS_ANY;
        hosts->attrs_for_libpq = attrs < ATTRS_COUNT ? attrs_names[attrs] : NULL;
    }
    if (hosts->n > 1)
        cut_lists(hosts, options);
    for (size_t i = 0; i < hosts->n; i++)
        hosts->all[i].limit_us = hosts->n > 1 ? LIMIT_FIRST_US : LIMIT_ONLY_US;
    PQconninfoFree(options);
}

void db_hosts_release(struct db_hosts *hosts)
{
    for (size_t i = 0; i < ARRAY_SIZE(hosts->lists); i++)
        free(hosts->lists[i]);
}

const struct db_host *db_hosts_current(const struct db_hosts *hosts)
{
    return &hosts->all[hosts->at];
}

/* -- roles ----------------------------------------------------------------------------------- */

/* A server older than 14, or a pooler, does not report it. */
static bool is_on(const char *value)
{
    return value != NULL && strcmp(value, "on") == 0;
}

static const char *objection(const struct db_hosts *hosts, bool is_standby, bool is_read_only)
{
    switch (hosts->attrs) {
    case ATTRS_READ_WRITE:
        return is_standby ? "it is a standby" : is_read_only ? "its sessions are read-only" : NULL;
    case ATTRS_READ_ONLY:
        return is_standby || is_read_only ? NULL : "its sessions are not read-only";
    case ATTRS_PRIMARY:
        return is_standby ? "it is a standby" : NULL;
    case ATTRS_PREFER_STANDBY:
        return is_standby || hosts->settles_for_any ? NULL : "it is not a standby";
    case ATTRS_STANDBY:
        return is_standby ? NULL : "it is not a standby";
    case ATTRS_ANY:
    case ATTRS_COUNT:
        break;
    }
    return NULL;
}

const char *db_hosts_objection(struct db_hosts *hosts, const char *in_hot_standby,
                               const char *default_transaction_read_only)
{
    const char *why = objection(hosts, is_on(in_hot_standby), is_on(default_transaction_read_only));

    hosts->has_met_other |= why != NULL;
    hosts->has_met_wanted |= why == NULL;
    return why;
}

const char *db_hosts_trouble(const struct db_hosts *hosts)
{
    if (!hosts->lacks_role)
        return "the database is unreachable";
    return hosts->attrs == ATTRS_READ_WRITE || hosts->attrs == ATTRS_PRIMARY
               ? "no server of the database takes writes"
               : "no server of the database has the required role";
}

/* -- turns ----------------------------------------------------------------------------------- */

static bool rests(const struct db_hosts *hosts, int64_t now_us)
{
    return db_hosts_current(hosts)->rests_until_us > now_us;
}

static void step(struct db_hosts *hosts)
{
    hosts->at = (hosts->at + 1) % hosts->n;
}

/* If all others rest, it is tried again itself. */
void db_hosts_turn(struct db_hosts *hosts, int64_t now_us)
{
    const size_t served = hosts->at;

    do
        step(hosts);
    while (hosts->at != served && rests(hosts, now_us));
}

/* Begins with a host that does not rest; if all do, with the one whose rest ends first, as waiting
   would gain nothing. */
static void begin_pass(struct db_hosts *hosts, int64_t now_us)
{
    size_t first = hosts->at;

    hosts->n_tried = 0;
    for (size_t i = 0; i < hosts->n && rests(hosts, now_us); i++) {
        if (hosts->all[hosts->at].rests_until_us < hosts->all[first].rests_until_us)
            first = hosts->at;
        step(hosts);
    }
    if (rests(hosts, now_us))
        hosts->at = first;
}

static void end_round(struct db_hosts *hosts)
{
    hosts->settles_for_any = false;
    hosts->lacks_role = hosts->has_met_other && !hosts->has_met_wanted;
    hosts->has_met_other = hosts->has_met_wanted = false;
}

bool db_hosts_fail(struct db_hosts *hosts, bool was_silent, int64_t now_us)
{
    struct db_host *at = &hosts->all[hosts->at];
    bool is_over;

    if (hosts->n > 1) {
        at->rests_until_us = was_silent ? now_us + REST_FACTOR * at->limit_us : 0;
        at->limit_us = was_silent ? 2 * at->limit_us : LIMIT_FIRST_US;
        if (at->limit_us > LIMIT_ONLY_US)
            at->limit_us = LIMIT_ONLY_US;
    }
    do {
        step(hosts);
        hosts->n_tried++;
    } while (hosts->n_tried < hosts->n && rests(hosts, now_us));
    if (hosts->n_tried < hosts->n)
        return false;
    is_over = hosts->attrs != ATTRS_PREFER_STANDBY || hosts->settles_for_any;
    if (is_over)
        end_round(hosts);
    else
        hosts->settles_for_any = true;
    begin_pass(hosts, now_us);
    return is_over;
}

void db_hosts_succeed(struct db_hosts *hosts)
{
    struct db_host *at = &hosts->all[hosts->at];

    at->rests_until_us = 0;
    if (hosts->n > 1)
        at->limit_us = LIMIT_FIRST_US;
    hosts->n_tried = 0;
    hosts->settles_for_any = hosts->lacks_role = false;
    hosts->has_met_other = hosts->has_met_wanted = false;
}
