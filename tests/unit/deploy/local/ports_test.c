/* deploy/local/lib/ports.sh: which ports services get. The test says which ports are in use. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

static char folder[] = "/tmp/ports.XXXXXX";

static void open_folder(void)
{
    static const char *const settings[] = {
        "GATEWAY_PORT", "DASHBOARD_PORT",   "POSTGRES_PORT",     "GATEWAY_TLS_PORT",
        "NATS_PORT",    "REPLICAS_GATEWAY", "REPLICAS_DASHBOARD"};

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
        unsetenv(settings[i]);
    cr_assert(mkdtemp(folder) != NULL);
    cr_assert_eq(setenv("FOLDER", folder, 1), 0);
    cr_assert_eq(system("touch $FOLDER/gateway $FOLDER/dashboard; chmod +x $FOLDER/*"), 0);
}

static void remove_folder(void)
{
    cr_assert_eq(system("rm -r $FOLDER"), 0);
}

TestSuite(ports, .init = open_folder, .fini = remove_folder);

/* The output of a start with these settings, followed by these commands. */
static const char *start(const char *settings, const char *commands)
{
    static char said[1024];
    char command[1024];
    FILE *shell;
    size_t n;

    snprintf(command, sizeof(command),
             "%s RUN_DIR=$FOLDER BIN_DIR=$FOLDER bash -euc '"
             "die() { echo \"$*\"; exit 1; };"
             "for part in cells ports services describe; do . deploy/local/lib/$part.sh; done;"
             "port_is_free() { [[ \" ${STRANGER-} \" != *\" $1 \"* ]]; };"
             "ports_settle;"
             "%s' 2>&1",
             settings, commands);
    shell = popen(command, "re");
    cr_assert_not_null(shell);
    n = fread(said, 1, sizeof(said) - 1, shell);
    said[n] = '\0';
    pclose(shell);
    return said;
}

/* The same, followed by the first ports of the gateway, its TLS listener and the dashboard. */
static const char *settle(const char *settings)
{
    return start(settings, "echo ${PORTS[gateway]} ${PORTS[gateway_tls]-none} ${PORTS[dashboard]}");
}

Test(ports, are_the_usual_ones_by_default)
{
    cr_expect_str_eq(settle(""), "8080 none 8081\n");
    cr_expect_str_eq(settle("GATEWAY_TLS_PORT=0"), "8080 none 8081\n");
    cr_expect_str_eq(settle("GATEWAY_TLS_PORT=8443"), "8080 8443 8081\n");
}

Test(ports, are_numbers_from_1_to_65535)
{
    static const char *const wrong[] = {"abc", "80800", "0", "-1", "08080", "8080x", "65536"};
    char setting[64];

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        snprintf(setting, sizeof(setting), "GATEWAY_PORT=%s", wrong[i]);
        cr_expect_str_eq(settle(setting), "GATEWAY_PORT must be a number from 1 to 65535\n");
    }
    cr_expect_str_eq(settle("GATEWAY_PORT=65535"), "65535 none 8081\n");
    cr_expect_str_eq(settle("GATEWAY_TLS_PORT=abc"),
                     "GATEWAY_TLS_PORT must be a number from 1 to 65535\n");
    cr_expect_str_eq(settle("NATS_PORT=abc"), "NATS_PORT must be a number from 1 to 65535\n");
    cr_expect_str_eq(settle("GATEWAY_PORT=65535 REPLICAS_GATEWAY=2"),
                     "GATEWAY_PORT leaves no room for 2 replicas below 65536\n");
    cr_expect_str_eq(settle("REPLICAS_GATEWAY=two"),
                     "REPLICAS_GATEWAY must be a number from 0 to 99\n");
}

Test(ports, of_the_dashboard_make_way_for_the_gateways)
{
    cr_expect_str_eq(
        settle("REPLICAS_GATEWAY=3"),
        "the dashboard listens on port 8083, because GATEWAY_PORT takes its usual one\n"
        "8080 none 8083\n");
    cr_expect_str_eq(
        settle("REPLICAS_GATEWAY=3 REPLICAS_DASHBOARD=2 STRANGER=8084"),
        "the dashboard listens on port 8085, because GATEWAY_PORT takes its usual one\n"
        "8080 none 8085\n");
    cr_expect_str_eq(
        settle("GATEWAY_TLS_PORT=8081"),
        "the dashboard listens on port 8082, because GATEWAY_TLS_PORT takes its usual one\n"
        "8080 8081 8082\n");
}

Test(ports, that_are_asked_for_twice_are_refused)
{
    cr_expect_str_eq(
        settle("REPLICAS_GATEWAY=2 DASHBOARD_PORT=8081"),
        "DASHBOARD_PORT and GATEWAY_PORT overlap at port 8081 (replica i uses the port + i)\n");
    cr_expect_str_eq(
        settle("REPLICAS_GATEWAY=2 GATEWAY_TLS_PORT=8079"),
        "GATEWAY_TLS_PORT and GATEWAY_PORT overlap at port 8080 (replica i uses the port + i)\n");
}

Test(ports, of_strangers_are_refused_and_others_proposed)
{
    const char *said = settle("GATEWAY_TLS_PORT=8442 REPLICAS_GATEWAY=2 STRANGER=8443");

    /* Two adjacent ports are needed; the range from 11000 on has them. */
    cr_expect(strstr(said, "port 8443 is in use; choose another, as in GATEWAY_TLS_PORT=1") == said,
              "%s", said);
    said = settle("STRANGER=8081");
    cr_expect(strstr(said, "port 8081 is in use; choose another, as in DASHBOARD_PORT=") == said,
              "%s", said);
}

Test(ports, in_use_by_others_are_reported_all_at_once)
{
    const char *said = settle("STRANGER=\"8080 8081\""), *second = strchr(said, '\n');

    cr_expect(strstr(said, "port 8080 is in use; choose another, as in GATEWAY_PORT=") == said,
              "%s", said);
    cr_assert_not_null(second, "%s", said);
    cr_expect(strstr(second, "\nport 8081 is in use; choose another, as in DASHBOARD_PORT=") ==
                  second,
              "%s", said);
}

Test(ports, are_of_no_more_processes_than_the_supervisor_has_room_for)
{
    cr_expect_str_eq(settle("REPLICAS_GATEWAY=99 REPLICAS_DASHBOARD=27"),
                     "REPLICAS_* ask for 128 processes in total; the maximum is 127\n");
    cr_expect_str_eq(settle("REPLICAS_GATEWAY=99 REPLICAS_DASHBOARD=26 DASHBOARD_PORT=9000"),
                     "8080 none 9000\n");
}

Test(ports, are_shown_only_for_programs_that_run)
{
    const char *said = start("", "describe");

    cr_expect_not_null(strstr(said, "  API         http://127.0.0.1:8080/api/v1\n"), "%s", said);
    cr_expect_not_null(strstr(said, "  dashboard   http://127.0.0.1:8081  ("), "%s", said);
    cr_expect_not_null(strstr(said, "curl"), "%s", said);
    said = start("REPLICAS_GATEWAY=0", "describe");
    cr_expect_not_null(strstr(said, "  API         none: no gateway runs\n"), "%s", said);
    cr_expect_null(strstr(said, "8080"), "%s", said);
    cr_expect_null(strstr(said, "curl"), "%s", said);
    said = start("REPLICAS_DASHBOARD=0", "describe");
    cr_expect_not_null(strstr(said, "  dashboard   none: no dashboard runs\n"), "%s", said);
}
