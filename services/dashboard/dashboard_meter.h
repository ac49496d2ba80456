/*
 * dashboard_meter - the dashboard's own metrics, beside those of every edge.
 *
 * Threads  dashboard_meter_open() once, before threads start; updating from any.
 */
#ifndef DASHBOARD_METER_H
#define DASHBOARD_METER_H

#include "common/base/metrics.h"
#include "common/edge/visit.h"

struct dashboard_meter {
    struct metric *sign_ins, *sign_ins_refused;
    struct metric *foreign; /* requests that no page of ours has made */
    struct metric *exports, *exports_broken;
};

extern struct dashboard_meter dashboard_meter;

void dashboard_meter_open(void);
void dashboard_meter_response(const struct visit *visit, int status);

#endif
