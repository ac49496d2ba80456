/*
 * db_hosts - the servers that a URL names: which is tried next, for how long, and whether it is one
 * that is wanted. Private to common/db.
 *
 * What     libpq tries several hosts by itself, but gives up on one that keeps silent only in its
 *          blocking calls: driven in steps, it never gets to the next. So an attempt is for one host.
 *          A round tries each once, from the one that served last, in the order of the URL; with
 *          prefer-standby it does so again where no standby was to be had. A host that kept silent is
 *          left out for a while, so that it takes a fifth of the time at most.
 *          target_session_attrs is read here, too: a server says at login whether it is a standby
 *          and whether its sessions are read-only. Where the URL does not say it, writes are wanted.
 * Owns     Copies of the names; no password.
 * Threads  The link's.
 * Fails    Never: what it cannot make sense of is left to libpq, which says so.
 */
#ifndef COMMON_DB_DB_HOSTS_H
#define COMMON_DB_DB_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DB_HOSTS_MAX = 16 };

/* The values of target_session_attrs, in the order of db_hosts.c. */
enum db_attrs {
    ATTRS_ANY,
    ATTRS_READ_WRITE,
    ATTRS_READ_ONLY,
    ATTRS_PRIMARY,
    ATTRS_STANDBY,
    ATTRS_PREFER_STANDBY,
    ATTRS_COUNT /* none of them: libpq complains */
};

struct db_host {
    const char *host, *hostaddr, *port; /* NULL: what the URL says, also when that is nothing */
    int64_t limit_us;                   /* how long the next attempt may take to log in */
    int64_t rests_until_us;
};

struct db_hosts {
    enum db_attrs attrs;
    const char *attrs_for_libpq; /* what it is to hold a server to; NULL: what the URL says */
    struct db_host all[DB_HOSTS_MAX];
    size_t n, at;
    size_t n_tried;       /* in this pass: a round has one, or two with prefer-standby */
    bool settles_for_any; /* prefer-standby: the first pass found no standby */
    bool has_met_other;   /* in this round: a server of another role, */
    bool has_met_wanted;  /* and one that is wanted, but of no use for another reason */
    bool lacks_role;      /* in the last round: only the former */
    char *lists[3];       /* what the names point into */
};

/* The URL can be parsed. `may_be_standby`: where it does not say, any server will do. */
void db_hosts_init(struct db_hosts *hosts, const char *url, bool may_be_standby);
void db_hosts_release(struct db_hosts *hosts);

/* The one to be tried, or in use. */
const struct db_host *db_hosts_current(const struct db_hosts *hosts);
/* NULL: it is one that is wanted. Otherwise why not. The two are what the server reports under
   these names, NULL when it does not. */
const char *db_hosts_objection(struct db_hosts *hosts, const char *in_hot_standby,
                               const char *default_transaction_read_only);

/* The attempt has failed, and the next host is current. True: that was the last of the round. Silent is also
   one whose name took long to look up. */
bool db_hosts_fail(struct db_hosts *hosts, bool was_silent, int64_t now_us);
/* It serves. */
void db_hosts_succeed(struct db_hosts *hosts);
/* It served, and kept silent: another one that does not rest is tried first. */
void db_hosts_turn(struct db_hosts *hosts, int64_t now_us);

/* Why there is no connection, in words for the log and /readyz. */
const char *db_hosts_trouble(const struct db_hosts *hosts);

#endif
