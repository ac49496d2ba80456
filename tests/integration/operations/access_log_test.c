/* ACCESS_LOG: one line for each response, and no lines of level debug. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/str.h"
#include "common/base/uuid.h"
#include "tests/support/api_client.h"
#include "tests/support/replica.h"

TestSuite(access_log, .init = stack_share);

/* Sends three requests to a gateway with that setting: without a key, for an unknown path, and a
   ping, whose id is `answered`. Returns the gateway's log, which ends with the gateway. */
static FILE *log_of(const char *setting, const struct org *org, char answered[UUID_TEXT + 1])
{
    struct replica gateway;
    struct client_request request = {.method = "GET", .path = "/ping", .base = gateway.base};
    int ends[2];

    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    replica_launch_into(&gateway, ends[1], (const char *const[]){setting, NULL});
    replica_await(&gateway);
    expect_status(http_send(&request), 401);
    request.key = org->read_key;
    request.path = "/nothing";
    expect_status(http_send(&request), 404);
    request.path = "/ping";
    snprintf(answered, UUID_TEXT + 1, "%s", http_send(&request)->request_id);
    replica_stop(&gateway);
    close(ends[1]);
    return fdopen(ends[0], "r");
}

/* How many answers the log has; `line` is the last of them. */
static int read_answers(FILE *log, char line[4200])
{
    char next[4200];
    int n = 0;

    cr_assert_not_null(log);
    while (fgets(next, sizeof(next), log) != NULL) {
        cr_assert_null(strstr(next, "\"level\":\"debug\""), "%s", next);
        if (strstr(next, "\"message\":\"response\"") == NULL)
            continue;
        cr_assert_not_null(strstr(next, "\"level\":\"info\""), "%s", next);
        strcpy(line, next);
        n++;
    }
    fclose(log);
    return n;
}

Test(access_log, has_a_line_for_each_response_at_level_info)
{
    static const char *const said[] = {
        "\"service\":\"gateway\"", "\"instance\":", "\"client\":\"127.0.0.1\"",
        "\"status\":200",          "\"took_us\":",  "\"operation\":\"ping\"",
        "\"outcome\":\"ok\""};
    char answered[UUID_TEXT + 1], line[4200] = "";
    struct org org;

    org_new(&org);
    cr_assert_eq(read_answers(log_of("ACCESS_LOG=true", &org, answered), line), 3);
    for (size_t i = 0; i < ARRAY_SIZE(said); i++)
        cr_expect_not_null(strstr(line, said[i]), "%s is not in %s", said[i], line);
    cr_expect_not_null(strstr(line, answered), "%s", line);
    cr_expect_not_null(strstr(line, org.id), "%s", line);
    cr_expect_null(strstr(line, org.read_key), "no key");
}

Test(access_log, is_off_if_set_to_false)
{
    char answered[UUID_TEXT + 1], line[4200] = "";
    struct org org;

    org_new(&org);
    cr_assert_eq(read_answers(log_of("ACCESS_LOG=false", &org, answered), line), 0);
}
