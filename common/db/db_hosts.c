#include "common/db/db_hosts.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"

enum {
    LIMIT_ONLY_US = 5 * 1000 * 1000,
    /* A lookup asks again for two seconds (lookup.h); a new one notices sooner that the name server
       has returned. */
    LIMIT_LOOKUP_US = 3 * 1000 * 1000,
    /* If there are others. A busy server takes longer to log in, so what kept silent gets twice as
       long the next time. */
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

enum db_attrs db_hosts_attrs(const char *name)
{
    int i = 0;

    while (i < ATTRS_COUNT && strcmp(name, attrs_names[i]) != 0)
        i++;
    return (enum db_attrs)i;
}

size_t db_hosts_parts(const char *list)
{
    size_t n = list[0] != '\0';

    for (; *list != '\0'; list++)
        n += *list == ',';
    return n;
}

/* A copy, from malloc(); NULL: the list is empty. */
static char *list_of(const char *list)
{
    char *copy = list[0] != '\0' ? strdup(list) : NULL;

    must(copy != NULL || list[0] == '\0');
    return copy;
}

/* Only names are looked up: not addresses (one with a colon may have a zone), nor the folders and
   abstract names of sockets. */
static bool is_name(const char *host)
{
    struct address address;

    return host != NULL && host[0] != '\0' && host[0] != '/' && host[0] != '@' &&
           strchr(host, ':') == NULL && !address_parse(str_of(host), &address);
}

static void cut_lists(struct db_hosts *hosts, const PQconninfoOption *options)
{
    const char *ports = value_of(options, "port");
    char *host = hosts->lists[0] = list_of(value_of(options, "host"));
    char *hostaddr = hosts->lists[1] = list_of(value_of(options, "hostaddr"));
    /* One port is that of all hosts. */
    char *port = hosts->lists[2] = db_hosts_parts(ports) > 1 ? list_of(ports) : NULL;

    for (size_t i = 0; i < hosts->n; i++) {
        struct db_host *at = &hosts->all[i];

        at->host = strsep(&host, ",");
        at->hostaddr = strsep(&hostaddr, ",");
        at->port = strsep(&port, ",");
        if (at->port != NULL && at->port[0] == '\0')
            at->port = PORT;
        at->has_name = at->hostaddr == NULL && is_name(at->host);
    }
}

void db_hosts_init(struct db_hosts *hosts, const char *url, bool may_be_standby)
{
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    enum db_attrs attrs = may_be_standby ? ATTRS_ANY : ATTRS_READ_WRITE;
    const char *name;
    size_t n;

    must(options != NULL);
    name = value_of(options, "target_session_attrs");
    if (name[0] != '\0')
        attrs = db_hosts_attrs(name);
    n = db_hosts_parts(value_of(options, "hostaddr"));
    if (n == 0)
        n = db_hosts_parts(value_of(options, "host"));
    *hosts = (struct db_hosts){
        .attrs = attrs,
        .n = n > 0 ? n : 1, /* without a name, libpq's own: a socket of this machine */
    };
    must(attrs < ATTRS_COUNT && hosts->n <= DB_HOSTS_MAX);
    cut_lists(hosts, options);
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

/* -- limits and rests --------------------------------------------------------------------------- */

/* With what is tried: the address, or else the host. */
static struct db_turn *turn_of(struct db_hosts *hosts)
{
    struct db_host *host = &hosts->all[hosts->at];

    return hosts->is_looked_up ? &host->addresses[host->at].turn : &host->turn;
}

static bool has_others(const struct db_hosts *hosts)
{
    return hosts->n > 1 || (hosts->is_looked_up && db_hosts_current(hosts)->n_addresses > 1);
}

static int64_t limit_of(const struct db_turn *with)
{
    return with->limit_us > 0 ? with->limit_us : LIMIT_FIRST_US;
}

int64_t db_hosts_limit_us(const struct db_hosts *hosts)
{
    const struct db_host *host = db_hosts_current(hosts);

    if (!has_others(hosts))
        return db_hosts_name(hosts) != NULL ? LIMIT_LOOKUP_US : LIMIT_ONLY_US;
    return limit_of(hosts->is_looked_up ? &host->addresses[host->at].turn : &host->turn);
}

static void lengthen(struct db_turn *with, int64_t now_us)
{
    const int64_t limit_us = limit_of(with);

    with->rests_until_us = now_us + REST_FACTOR * limit_us;
    with->limit_us = 2 * limit_us < LIMIT_ONLY_US ? 2 * limit_us : LIMIT_ONLY_US;
}

/* -- addresses ------------------------------------------------------------------------------- */

const char *db_hosts_name(const struct db_hosts *hosts)
{
    const struct db_host *host = db_hosts_current(hosts);

    return host->has_name && !hosts->is_looked_up ? host->host : NULL;
}

const struct address *db_hosts_address(const struct db_hosts *hosts)
{
    const struct db_host *host = db_hosts_current(hosts);

    return hosts->is_looked_up ? &host->addresses[host->at].ip : NULL;
}

/* What is known about an address from earlier turns. */
static struct db_address known(const struct db_host *host, const struct address *ip)
{
    for (size_t i = 0; i < host->n_addresses; i++)
        if (address_equal(&host->addresses[i].ip, ip))
            return host->addresses[i];
    return (struct db_address){.ip = *ip};
}

/* Makes the first one current that does not rest; if all do, the one whose rest ends first. */
static void begin_addresses(struct db_host *host, int64_t now_us)
{
    size_t first = 0;

    for (size_t i = 0; i < host->n_addresses; i++) {
        const int64_t until_us = host->addresses[i].turn.rests_until_us;

        if (host->addresses[first].turn.rests_until_us > now_us &&
            until_us < host->addresses[first].turn.rests_until_us)
            first = i;
    }
    host->at = first;
    host->n_tried = 0;
}

void db_hosts_found(struct db_hosts *hosts, const struct address *addresses, size_t n,
                    int64_t now_us)
{
    struct db_host *host = &hosts->all[hosts->at];
    const struct address served = host->addresses[host->at].ip;
    struct db_address all[DB_ADDRESSES_MAX];
    size_t first = 0;

    must(n > 0);
    if (n > DB_ADDRESSES_MAX)
        n = DB_ADDRESSES_MAX;
    for (size_t i = 0; i < n; i++)
        all[i] = known(host, &addresses[i]);
    for (size_t i = 0; i < n && host->has_served; i++)
        if (address_equal(&all[i].ip, &served))
            first = i;
    for (size_t i = 0; i < n; i++)
        host->addresses[i] = all[(first + i) % n];
    host->n_addresses = n;
    hosts->is_looked_up = true;
    begin_addresses(host, now_us);
}

/* False: each of the host's addresses had its turn. */
static bool turn_to_next_address(struct db_hosts *hosts, int64_t now_us)
{
    struct db_host *host = &hosts->all[hosts->at];

    if (!hosts->is_looked_up)
        return false;
    do {
        host->at = (host->at + 1) % host->n_addresses;
        host->n_tried++;
    } while (host->n_tried < host->n_addresses &&
             host->addresses[host->at].turn.rests_until_us > now_us);
    return host->n_tried < host->n_addresses;
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

/* A host rests if its name does, or each of its addresses. */
static int64_t rest_of(const struct db_host *host)
{
    int64_t until_us = host->n_addresses > 0 ? INT64_MAX : 0;

    for (size_t i = 0; i < host->n_addresses; i++)
        if (host->addresses[i].turn.rests_until_us < until_us)
            until_us = host->addresses[i].turn.rests_until_us;
    return host->turn.rests_until_us > until_us ? host->turn.rests_until_us : until_us;
}

static bool rests(const struct db_hosts *hosts, int64_t now_us)
{
    return rest_of(db_hosts_current(hosts)) > now_us;
}

static void step(struct db_hosts *hosts)
{
    hosts->at = (hosts->at + 1) % hosts->n;
    hosts->is_looked_up = false;
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
        if (rest_of(db_hosts_current(hosts)) < rest_of(&hosts->all[first]))
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
    struct db_turn *with = turn_of(hosts);
    bool is_over;

    if (!was_silent)
        *with = (struct db_turn){.limit_us = 0};
    else if (has_others(hosts))
        lengthen(with, now_us);
    if (turn_to_next_address(hosts, now_us))
        return false;
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
    struct db_host *host = &hosts->all[hosts->at];

    *turn_of(hosts) = host->turn = (struct db_turn){.limit_us = 0};
    host->has_served = hosts->is_looked_up;
    hosts->is_looked_up = false;
    hosts->n_tried = 0;
    hosts->settles_for_any = hosts->lacks_role = false;
    hosts->has_met_other = hosts->has_met_wanted = false;
}
