/* Reading rows that our services never write, but that a table can hold. */
#include "common/db/params.h"
#include "services/search/found.h"
#include "tests/unit/services/search/search_fixture.h"

/* A conversation of the given time, with the columns of the real statements. */
static const struct db_statement rows = {
    .name = "rows",
    .text = "SELECT gen_random_uuid() AS id, 'e' AS external_id, $1::timestamptz AS created_at,"
            " $1 AS updated_at, $1 AS last_message_at, 'api' AS channel, 'active' AS status,"
            " '{}'::jsonb AS custom_attributes, 0 AS message_count",
    .columns = "id external_id created_at updated_at last_message_at channel status "
               "custom_attributes message_count",
};

static void start_crafted(void)
{
    open_arena();
    postgres_server_share(&server, &template);
    db = postgres_connect_as(&server, "conv_search", &rows, 1);
}

TestSuite(search_found, .init = start_crafted, .fini = stop);

static struct found_row read_one(const char *time)
{
    struct found found = {.n = 1};
    struct found_row row;
    size_t asked;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    asked = db_add_binary(db, 0, PARAMS(str_of(time)));
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    found.rows = db_result(db, asked);
    found_row_read(&found, 0, &row);
    cr_assert_eq(db_commit(db), ST_OK);
    return row;
}

Test(search_found, reads_times_that_have_no_end)
{
    static const struct {
        const char *time;
        int64_t us;
    } times[] = {
        {"2023-11-14 22:13:20Z", 1700000000000000},
        {"1970-01-01 00:00:00Z", 0},
        {"294246-12-31 00:00:00Z", INT64_C(9223371158400000000)},
        {"294276-12-31 00:00:00Z", INT64_MAX}, /* too late for the type */
        {"infinity", INT64_MAX},
        {"-infinity", INT64_MIN + DB_EPOCH_US},
    };

    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        const struct found_row row = read_one(times[i].time);

        cr_expect_eq(row.created_us, times[i].us, "%s", times[i].time);
        cr_expect_eq(row.updated_us, times[i].us, "%s", times[i].time);
        cr_expect_eq(row.last_message_us, times[i].us, "%s", times[i].time);
    }
}
