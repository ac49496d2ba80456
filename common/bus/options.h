/*
 * options - the options of nats.c for one attempt to connect, made of the program's settings and of
 *           what their files hold now. Private to common/bus.
 *
 * Threads  Any.
 */
#ifndef COMMON_BUS_OPTIONS_H
#define COMMON_BUS_OPTIONS_H

#include <nats/nats.h>

#include "common/base/ip.h"
#include "common/bus/bus_options.h"
#include "common/bus/bus_url.h"

enum { BUS_CONNECT_MS = 1000 };                         /* how long an attempt may take */
enum { BUS_WHERE = ADDRESS_TEXT + sizeof("[]:65535") }; /* an address and a port */

bool bus_wants_tls(const struct bus_options *options, const struct bus_server *server);
/* `where` is an address and a port of the server. If one of our settings is at fault, `why` names
   it. Destroy *out in any case. */
natsStatus bus_make_options(const struct bus_options *options, const struct bus_server *server,
                            const char *where, natsOptions **out, char why[BUS_WHY]);
const char *bus_error_text(natsStatus s); /* of this thread's last call */
/* What to say of a server that does not let us in. */
const char *bus_refusal(const struct bus_options *options);

#endif
