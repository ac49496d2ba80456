/*
 * metrics - counters, gauges and histograms in the Prometheus text format.
 *
 * What     A process registers its metrics at start and keeps the pointers. Updating is one atomic
 *          add. A metric is one time series: name, optional label set (written out, `a="b",c="d"`).
 *          Series of one name are registered next to each other and share help and type. Names of
 *          counters end in _total, those of durations in _seconds; must() enforces all of this.
 *          metrics_render() adds metrics of the process itself: its version; processor time, start
 *          and memory under the names that Prometheus' own clients use; hung threads; and dropped
 *          log lines.
 *          A list is one metric whose series come and go, set all at once: a few out of many things.
 * Owns     The registry, names and labels, until the process ends. Help is kept, not copied.
 * Threads  Register before threads start; update and render from any.
 */
#ifndef COMMON_BASE_METRICS_H
#define COMMON_BASE_METRICS_H

#include <stdint.h>

#include "common/base/buf.h"

struct metric;

struct metric *metric_counter(const char *name, const char *labels, const char *help);
struct metric *metric_gauge(const char *name, const char *labels, const char *help);
/* Durations: buckets from 100 us to 10 s, rendered in seconds. */
struct metric *metric_histogram_seconds(const char *name, const char *labels, const char *help);
/* Sizes: buckets 1, 2, 4 ... 1024. */
struct metric *metric_histogram_count(const char *name, const char *labels, const char *help);

/* The metric is not rendered until it has counted or observed something: for groups of which most
   members are seldom or never used. An alert must not rely on one, since the first event of a
   series that did not exist before yields no rate. */
void metric_show_when_used(struct metric *metric);

void metric_add(struct metric *metric, int64_t n);
void metric_set(struct metric *metric, int64_t value);
/* Microseconds, or a count; a negative value counts as 0. */
void metric_observe(struct metric *metric, int64_t value);

int64_t metric_read(const struct metric *metric); /* of a histogram: the sum of its values */

/* A gauge for each of the things that matter now, identified by its labels, such as an id. Each
   call replaces all series; beyond METRIC_LISTED_MAX the rest are dropped, so that input from
   outside cannot create unlimited series. */
#define METRIC_LISTED_MAX 20
#define METRIC_LABELS_MAX 160

struct metric_series {
    char labels[METRIC_LABELS_MAX];
    int64_t value;
};

struct metric *metric_gauge_list(const char *name, const char *help);
void metric_list(struct metric *metric, const struct metric_series *series, size_t n);

/* Sets the label `cell` of conversations_build_info; NULL: none. Keeps the pointer. Call once,
   before anything is rendered. */
void metrics_name_cell(const char *cell);

/* Prometheus text exposition format 0.0.4. */
void metrics_render(struct buf *out);

#endif
