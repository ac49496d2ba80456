/*
 * dashboard_export - an organization's audit log as a file: CSV, or one entry per line.
 *
 * What     Streamed: only one part is in memory at a time, and the next is requested when the
 *          browser has taken the previous one. The session is checked again before each part. A
 *          failure after the start breaks off the file.
 * Owns     An export belongs to its request, which frees it with dashboard_export_release().
 * Threads  The loop's. Functions that take no request are pure.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_EXPORT_H
#define SERVICES_DASHBOARD_DASHBOARD_EXPORT_H

#include "common/base/buf.h"
#include "common/json/json.h"

struct dashboard_export;
struct dashboard_request;

/* -- rows for spreadsheets (RFC 4180) -------------------------------------------------------- */

/* Quotes every cell. If a spreadsheet could take the text for a formula (after any spaces it begins
   with = + - @, a tab or a line break), it gets an apostrophe in front. */
void csv_add_cell(struct buf *out, struct str text); /* STR_NONE: an empty cell */
void csv_end_row(struct buf *out);

/* -- the parts of an export ------------------------------------------------------------------ */

/* Limit of the text of one part; our service sends parts of about a tenth of it. */
#define EXPORT_TEXT_MAX ((size_t)4 * 1024 * 1024)

/* Whether a part has the form that audit.export promises: `entries`, an array of objects, and
   `position`, an object that only the last part lacks. */
bool export_part_is_sound(const json_t *part);
/* Append entries as CSV rows, or as one JSON object per line. False: `out` would exceed
   EXPORT_TEXT_MAX bytes. */
MUST_CHECK bool export_add_rows(struct buf *out, const json_t *entries);
MUST_CHECK bool export_add_lines(struct buf *out, const json_t *entries);

/* -- exports --------------------------------------------------------------------------------- */

/* Responds to the request, with the file or with the reason why there is none. */
void dashboard_export_begin(struct dashboard_request *request);
void dashboard_export_release(struct dashboard_export *export); /* NULL is fine */

#endif
