#include "common/db/db_url.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/db/db_hosts.h"

#define NOT_PARSED                                                                                 \
    "cannot be parsed: write it without quotation marks, and @ : / % of the password as %40 %3A "  \
    "%2F %25"

enum key { HOST, HOSTADDR, PORT, SERVICE, ATTRS, KEYS };

static const char *const keys[KEYS] = {"host", "hostaddr", "port", "service",
                                       "target_session_attrs"};

/* A password with a / or an @ in it ends early, and its rest becomes a port or the beginning of a
   host. A host that begins with an @ is an abstract socket. */
static bool has_part_of_password(const char *host, const char *port)
{
    if (port[strspn(port, "0123456789,")] != '\0')
        return true;
    for (const char *p = host; *p != '\0'; p++)
        if (*p == '@' && p > host && p[-1] != ',')
            return true;
    return false;
}

static bool has_empty_part(const char *list)
{
    const size_t n = strlen(list);

    return n > 0 && (list[0] == ',' || list[n - 1] == ',' || strstr(list, ",,") != NULL);
}

static bool has_other_length(const char *list, size_t n)
{
    return list[0] != '\0' && db_hosts_parts(list) != n;
}

static const char *fault_of(const char *const values[KEYS])
{
    const char *host = values[HOST], *hostaddr = values[HOSTADDR], *port = values[PORT];
    const size_t n = db_hosts_parts(hostaddr[0] != '\0' ? hostaddr : host);

    if (has_part_of_password(host, port))
        return NOT_PARSED;
    if (values[SERVICE][0] != '\0')
        return "names a service: name the hosts instead";
    if (n > DB_HOSTS_MAX)
        return "names more than 16 hosts";
    if (has_empty_part(host) || has_empty_part(hostaddr))
        return "has an empty part in its list of hosts";
    if (has_other_length(host, n) || (db_hosts_parts(port) > 1 && has_other_length(port, n)))
        return "has lists of hosts, addresses and ports that differ in length";
    if (values[ATTRS][0] != '\0' && db_hosts_attrs(values[ATTRS]) == ATTRS_COUNT)
        return "has a target_session_attrs other than any, read-write, read-only, primary, standby "
               "and prefer-standby";
    return NULL;
}

const char *db_url_fault(const char *url)
{
    PQconninfoOption *parsed = PQconninfoParse(url, NULL);
    const char *values[KEYS] = {"", "", "", "", ""}, *fault;

    if (parsed == NULL)
        return NOT_PARSED;
    for (const PQconninfoOption *at = parsed; at->keyword != NULL; at++)
        for (int key = 0; key < KEYS; key++)
            if (at->val != NULL && strcmp(at->keyword, keys[key]) == 0)
                values[key] = at->val;
    fault = fault_of(values);
    PQconninfoFree(parsed);
    return fault;
}
