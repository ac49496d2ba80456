/*
 * churn - keys and endpoints that come and go while everything else happens.
 *
 * What     Makes a key, uses it, revokes it, uses it until it is refused, and so on; and now and then
 *          an endpoint that is deleted again. What convctl could not do is told, and begun again.
 * Owns     A thread, between churn_start() and churn_stop().
 * Threads  The test's main thread.
 * Fails    Never: what an operator cannot do during an outage is no failure here.
 */
#ifndef TESTS_FAULTS_CHURN_H
#define TESTS_FAULTS_CHURN_H

#include "tests/support/api_client.h"

void churn_start(const struct org *org, int org_number, const char *endpoint_url);
void churn_stop(void);

#endif
