/*
 * csv - rows for spreadsheets (RFC 4180).
 *
 * What     Every cell is quoted. One that a spreadsheet would take for a formula (it begins with
 *          = + - @, a tab or a line end, whatever blanks stand before) gets an apostrophe in front.
 * Threads  Any; pure.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_EXPORT_H
#define SERVICES_DASHBOARD_DASHBOARD_EXPORT_H

#include "common/base/buf.h"

void csv_add_cell(struct buf *out, struct str text); /* STR_NONE is an empty one */
void csv_end_row(struct buf *out);

#endif
