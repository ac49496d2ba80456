/*
 * churn - keys and endpoints that are created and removed while everything else happens.
 *
 * What     In a loop, creates a key, uses it, revokes it, and uses it until it is refused; from
 *          time to time also creates an endpoint and deletes it again. If convctl fails, that is
 *          recorded and the loop starts again.
 * Owns     A thread, between churn_start() and churn_stop().
 * Threads  The test's main thread.
 * Fails    Never: an operator's command may fail during an outage.
 */
#ifndef TESTS_FAULTS_CHURN_H
#define TESTS_FAULTS_CHURN_H

#include "tests/support/api_client.h"

void churn_start(const struct org *org, int org_number, const char *endpoint_url);
void churn_stop(void);

#endif
