/*
 * dashboard_export - the audit log of an organization as a file, in CSV or an entry a line.
 *
 * What     Streamed: one step of it is in memory at a time, and the next is asked for when the
 *          browser has taken the one before; the session is checked again before each. A
 *          failure after the beginning breaks the file off.
 * Owns     An export belongs to its request, which gives it back with dashboard_export_release().
 * Threads  The loop's. What does not take a request is pure.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_EXPORT_H
#define SERVICES_DASHBOARD_DASHBOARD_EXPORT_H

#include "common/base/buf.h"
#include "common/json/json.h"

struct dashboard_export;
struct dashboard_request;

/* -- rows for spreadsheets (RFC 4180) -------------------------------------------------------- */

/* Every cell is quoted. One that a spreadsheet would take for a formula (it begins with = + - @, a
   tab or a line end, whatever blanks stand before) gets an apostrophe in front. */
void csv_add_cell(struct buf *out, struct str text); /* STR_NONE is an empty one */
void csv_end_row(struct buf *out);

/* -- the parts of an export ------------------------------------------------------------------ */

/* A part as text; one of ours has a tenth of it. */
#define EXPORT_TEXT_MAX ((size_t)4 * 1024 * 1024)

/* Whether it is what audit.export answers: `entries`, an array of objects, and `position`, an object,
   unless it is the last part. */
bool export_part_is_sound(const json_t *part);
/* Entries as rows for spreadsheets, and as one JSON object a line. False: `out` would have more than
   EXPORT_TEXT_MAX bytes. */
MUST_CHECK bool export_add_rows(struct buf *out, const json_t *entries);
MUST_CHECK bool export_add_lines(struct buf *out, const json_t *entries);

/* -- exports --------------------------------------------------------------------------------- */

#define EXPORTS_MAX 8

/* A part of struct dashboard. */
struct dashboard_exports {
    struct dashboard_export *running[EXPORTS_MAX]; /* NULL: the place is free */
};

/* Answers the request: with the file, or with the reason for its absence. */
void dashboard_export_begin(struct dashboard_request *request);
void dashboard_export_release(struct dashboard_export *export); /* NULL is fine */

#endif
