/*
 * session - opens sessions of the dashboard's users, and creates the secrets that identify sessions
 *           and invitations.
 *
 * What     For sign-in and for accepting an invitation, commands of the mailbox v1.session. Each
 *          takes the time of hashing one or more passwords, and has a transaction of its own. It
 *          queries twice: for the user and, once the password is checked, for the session. The
 *          commands about open sessions, in the same file, are ordinary ones (access.h).
 * Owns     Nothing; texts live in the command's arena.
 * Threads  The actor's.
 * Fails    As db_run() does; ST_REFUSED: the command has been refused.
 */
#ifndef SERVICES_ACCESS_SESSION_H
#define SERVICES_ACCESS_SESSION_H

#include "services/access/access.h"

#define SESSION_SECRET_BYTES 32
#define SESSION_SECRET_TEXT  43 /* in base64url */

/* Creates a secret that is shown once and stored as its SHA-256: a session's token, an invitation.
   The secret and its hash, in hex, live in the arena. */
struct str session_secret_make(struct arena *arena, struct str *hash);

struct session_of {
    struct str organization_id, user_id, email, password_hash; /* the one that matched */
    struct str address, network, user_agent;
};

/* Opens a session, writes the reply and records the user for the log of changes. ST_REFUSED: the
   password was changed meanwhile, or the user removed. */
enum status session_open(struct command *command, struct db *db, const struct session_of *of);

#endif
