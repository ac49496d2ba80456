/*
 * kept_snapshot - a snapshot of the database that stays open throughout a run, as of a dump.
 *
 * What     PostgreSQL removes no row that has died since it was taken. A process of psql holds it. It ends if its
 *          server is killed; kept_snapshot_renew() then takes another one.
 * Threads  The test's main thread.
 * Fails    Fails the test if there is no psql. A try while the server starts takes none.
 */
#ifndef TESTS_FAULTS_KEPT_SNAPSHOT_H
#define TESTS_FAULTS_KEPT_SNAPSHOT_H

/* Takes one unless one is held. */
void kept_snapshot_renew(void);
/* Lets go of it. How often one was taken, or tried to be. */
int kept_snapshot_end(void);

#endif
