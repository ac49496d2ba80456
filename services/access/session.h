/*
 * session - opens sessions of the dashboard's users, and makes the secrets by which sessions and
 *           invitations are known.
 *
 * What     For sign-in and for accepting an invitation, commands of the mailbox v1.session: each may
 *          take as long as hashing a password or two, and is a transaction by itself. They ask
 *          twice: who it is, and, when that is certain, for the session. The commands about open
 *          sessions, in the same file, are ordinary ones (access.h).
 * Owns     Nothing; texts live in the command's arena.
 * Threads  The actor's.
 * Fails    As db_run(); ST_REFUSED: the command has been refused.
 */
#ifndef SERVICES_ACCESS_SESSION_H
#define SERVICES_ACCESS_SESSION_H

#include "services/access/access.h"

#define SESSION_SECRET_BYTES 32
#define SESSION_SECRET_TEXT  43 /* base64url of them */

/* A secret that is shown once and stored as its SHA-256: a session's token, an invitation. Both in
   the arena; the hash in hex. */
struct str session_secret_make(struct arena *arena, struct str *hash);

struct session_of {
    struct str organization_id, user_id, email, password_hash; /* the one that matched */
    struct str address, network, user_agent;
};

/* Opens a session, writes the reply and records who did so. ST_REFUSED: the user is not entitled to
 * one any more. */
enum status session_open(struct command *command, struct db *db, const struct session_of *of);

#endif
