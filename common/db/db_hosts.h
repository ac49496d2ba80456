/*
 * db_hosts - the servers that a URL names: which to try next, for how long, and whether a server has
 * the right role. Private to common/db.
 *
 * What     libpq tries several hosts, and several addresses of a host, by itself, but only its
 *          blocking calls give up on a silent one: driven in steps, it never reaches the next. So
 *          each attempt is for one address of one host. A round tries each host once, starting with
 *          the one that served last, in the order of the URL; with prefer-standby, a second pass
 *          takes any server if the first found no standby. The turn of a host that has a name
 *          begins with the lookup of its addresses, and tries each once, starting with the one that
 *          served last. What kept silent, a host or an address, is skipped for a while, so that it
 *          uses a fifth of the time at most.
 *          target_session_attrs is checked here, too: at login a server reports whether it is a
 *          standby and whether its sessions are read-only. If the URL does not set it, the server
 *          must take writes.
 * Owns     Copies of the names; no password.
 * Threads  The link's.
 * Fails    Never: db_url.h refuses what it cannot interpret.
 */
#ifndef COMMON_DB_DB_HOSTS_H
#define COMMON_DB_DB_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/ip.h"

enum { DB_HOSTS_MAX = 16, DB_ADDRESSES_MAX = 16 /* of one host; further ones are left out */ };

/* The values of target_session_attrs, in the order of db_hosts.c. */
enum db_attrs {
    ATTRS_ANY,
    ATTRS_READ_WRITE,
    ATTRS_READ_ONLY,
    ATTRS_PRIMARY,
    ATTRS_STANDBY,
    ATTRS_PREFER_STANDBY,
    ATTRS_COUNT
};

/* With a host or an address that may keep silent. */
struct db_turn {
    int64_t
        limit_us; /* how long the next attempt may take, if there are others; 0 = as the first */
    int64_t rests_until_us;
};

struct db_address {
    struct address ip;
    struct db_turn turn;
};

struct db_host {
    const char *host, *hostaddr, *port; /* NULL: as in the URL, even if that has none */
    bool has_name;                      /* its addresses must be looked up */
    struct db_turn turn;                /* with the lookup if it has a name, else with the login */
    struct db_address addresses[DB_ADDRESSES_MAX]; /* in the order in which to try them */
    size_t n_addresses, at, n_tried;
    bool has_served; /* the address at `at` */
};

struct db_hosts {
    enum db_attrs attrs;
    struct db_host all[DB_HOSTS_MAX];
    size_t n, at;
    bool is_looked_up;    /* the host to try: its addresses are those of this turn */
    size_t n_tried;       /* in this pass; a round has one pass, or two with prefer-standby */
    bool settles_for_any; /* prefer-standby: the first pass found no standby */
    bool has_met_other;   /* in this round: a server with another role, */
    bool has_met_wanted;  /* and one with the right role that failed for another reason */
    bool lacks_role;      /* the last round met only the former */
    char *lists[3];       /* the storage of the names */
};

/* The parts of a list that libpq separates with commas; 0: it is empty. */
size_t db_hosts_parts(const char *list);

/* The value of that name; ATTRS_COUNT: there is none. */
enum db_attrs db_hosts_attrs(const char *name);

/* db_url_fault() must find none. `may_be_standby`: if the URL has no target_session_attrs, any server
   will do. */
void db_hosts_init(struct db_hosts *hosts, const char *url, bool may_be_standby);
void db_hosts_release(struct db_hosts *hosts);

/* The host to try, or the one in use. */
const struct db_host *db_hosts_current(const struct db_hosts *hosts);
/* The name to look up before the next attempt; NULL: none. */
const char *db_hosts_name(const struct db_hosts *hosts);
/* Call with the addresses of that name, at least one, in the order in which to try them. */
void db_hosts_found(struct db_hosts *hosts, const struct address *addresses, size_t n,
                    int64_t now_us);
/* The address to try, or the one in use; NULL: libpq finds it. */
const struct address *db_hosts_address(const struct db_hosts *hosts);
/* How long the lookup or the attempt to log in may take. */
int64_t db_hosts_limit_us(const struct db_hosts *hosts);
/* NULL: the server has the right role; otherwise the reason why not. The two values are what the
   server reports under these names, NULL if it does not. */
const char *db_hosts_objection(struct db_hosts *hosts, const char *in_hot_standby,
                               const char *default_transaction_read_only);

/* Call when a lookup or an attempt has failed: makes the next address or host current. True: that was
   the last of the round. */
bool db_hosts_fail(struct db_hosts *hosts, bool was_silent, int64_t now_us);
/* Call when the current host serves. */
void db_hosts_succeed(struct db_hosts *hosts);
/* Call when the current host served and then kept silent: another host that is not resting is tried
   first. */
void db_hosts_turn(struct db_hosts *hosts, int64_t now_us);

/* Why there is no connection, in words for the log and /readyz. */
const char *db_hosts_trouble(const struct db_hosts *hosts);

#endif
