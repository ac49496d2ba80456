/* tests/faults/check_history finds a broken promise in a history, and none in a sound one. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/str.h"

/* JSON with single quotes, which become double quotes when it is written. */
#define VERSION_OF(k0, updated)                                                                    \
    "{'id':'v','ext':'x-0','contact':'c-0','attrs':{'born':1,'kind':'even'" k0                     \
    "},'created':1700000010,'updated':" updated "}"
#define VERSION(k0) VERSION_OF(k0, "1700000011")
#define OP(name, at, status, id, args, got)                                                        \
    "{'type':'op','op':'" name "','org':0,'gateway':0,'begin':" at "000000,'end':" at              \
    "010000,'status':" status ",'id':'" id "','args':" args ",'got':" got "}\n"
#define LAST "{'type':'verify','org':0,'found':{'ok':true}}\n"
#define END  "{'type':'end'}\n"
#define FAULT(what, begin, end)                                                                    \
    "{'type':'fault','what':'" what "','begin':" begin "000000,'end':" end "000000}\n"
#define FAILURE(status, id, code)                                                                  \
    OP("get", "91", status, id, "{'conversation':'v'}", "{'request_id':'" id "','code':'" code "'}")
#define USE(at)                                                                                    \
    OP("ping", at, "200", "r9", "{'scope':'full','key':'a'}",                                      \
       "{'organization_id':'o','scope':'full','server_time':17000000" at "}")
#define KEY(state, at)                                                                             \
    "{'type':'key','key':'a','state':'" state "','begin':" at "000000,'end':" at                   \
    "010000,'done':true}\n"
#define DELIVERY_OF(id, at)                                                                        \
    "{'type':'delivery','org':0,'event':'evt_1','delivery':'" id                                   \
    "','header':'conversation.created',"                                                           \
    "'signed':true,'at':" at "000000,'body':{'id':'evt_1','type':'conversation.created',"          \
    "'data':{'id':'v','channel':'api','status':'active'}}}\n"

#define DELIVERY DELIVERY_OF("d1", "11")

/* An update of unknown outcome. */
#define LOST_UPDATE                                                                                \
    FAULT("stop:conversation-0:900", "15", "16")                                                   \
    OP("update", "16", "500", "r7", "{'conversation':'v','set':{'k0':7}}",                         \
       "{'request_id':'r7','code':'server_error'}")

/* A conversation is created at 10 s, changed at 11 s, read at 12 s and read again at the end. A key
   is created and revoked meanwhile. */
static const char *const lines[] = {
    "{'type':'run','seed':1,'seconds':9,'rate':1,'wall':1700000000000000}\n",
    "{'type':'org','org':0,'id':'o'}\n",
    "{'type':'fault','what':'kill:nats:0','begin':50000000,'end':50000001}\n",
    OP("create", "10", "201", "r1", "{'ext':'x-0','contact':'c-0','born':1}", VERSION("")),
    OP("update", "11", "200", "r2", "{'conversation':'v','set':{'k0':5}}", VERSION(",'k0':5")),
    OP("get", "12", "200", "r3", "{'conversation':'v'}", VERSION(",'k0':5")),
    DELIVERY,
    KEY("made", "9"),
    OP("ping", "13", "200", "r6", "{'scope':'full','key':'a'}",
       "{'organization_id':'o','scope':'full','server_time':1700000013}"),
    KEY("revoked", "15"),
    OP("search", "20", "200", "r4", "{'contact':'c-0','page':0,'final':true}",
       "{'conversations':[" VERSION(",'k0':5") "],'total':1,'page':1,'more':false}"),
    OP("audit", "21", "200", "r5", "{'final':true}",
       "{'audit_logs':[['r1','conversation.create',201,'v'],['r2','conversation.update',200,'v'],"
       "['r3','conversation.get',200,'v'],['r4','conversation.search',200,null],"
       "['r6','ping',200,null]],'more':false}"),
    LAST,
    END,
};

static char sound[8192]; /* the lines */
static char path[] = "/tmp/check-history.XXXXXX";

static void make_file(void)
{
    const int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    close(fd);
    for (size_t i = 0, n = 0; i < ARRAY_SIZE(lines); i++) {
        n += (size_t)snprintf(sound + n, sizeof(sound) - n, "%s", lines[i]);
        cr_assert_lt(n, sizeof(sound));
    }
}

static void remove_file(void)
{
    unlink(path);
}

TestSuite(check_history, .init = make_file, .fini = remove_file);

static void write_json(FILE *file, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fputc(text[i] == '\'' ? '"' : text[i], file);
}

/* Replaces the first occurrence of `old`. */
struct change {
    const char *old, *new;
};

enum { CHANGES_MAX = 3, OUTPUT_MAX = 8192 };

static void change(char text[static sizeof(sound)], const struct change *it)
{
    char *at = strstr(text, it->old), rest[sizeof(sound)];

    cr_assert_not_null(at, "%s", it->old);
    snprintf(rest, sizeof(rest), "%s", at + strlen(it->old));
    cr_assert_lt(strlen(it->new) + strlen(rest), sizeof(sound) - (size_t)(at - text));
    sprintf(at, "%s%s", it->new, rest);
}

static FILE *open_history(void)
{
    FILE *file = fopen(path, "we");

    cr_assert_not_null(file);
    return file;
}

/* The exit status, and the output on both streams, for these arguments. */
static int check_arguments(const char *arguments, char output[OUTPUT_MAX])
{
    char command[256];
    FILE *said;
    int status;

    snprintf(command, sizeof(command), "exec 2>&1; tests/faults/check_history %s", arguments);
    said = popen(command, "re");
    cr_assert_not_null(said);
    output[fread(output, 1, OUTPUT_MAX - 1, said)] = '\0';
    status = pclose(said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The same for the written history. */
static int check_file(FILE *file, char output[OUTPUT_MAX])
{
    cr_assert_eq(fclose(file), 0);
    return check_arguments(path, output);
}

/* The same for the sound history with these changes. */
static int check(const struct change changes[CHANGES_MAX], char output[OUTPUT_MAX])
{
    char text[sizeof(sound)];
    FILE *file = open_history();

    memcpy(text, sound, sizeof(text));
    for (int i = 0; i < CHANGES_MAX && changes[i].old != NULL; i++)
        change(text, &changes[i]);
    write_json(file, text, strlen(text));
    return check_file(file, output);
}

Test(check_history, finds_nothing_in_a_sound_one)
{
    char output[OUTPUT_MAX];

    cr_expect_eq(check((struct change[CHANGES_MAX]){{0}}, output), 0, "%s", output);
}

Test(check_history, prints_how_it_is_called)
{
    static const char *const wrong[] = {"", "--josn x", "-h", "x y", "--json"};
    static const char usage[] = "usage: check_history [--json] HISTORY\n";
    char output[OUTPUT_MAX];

    cr_expect_eq(check_arguments("--help 2>/dev/null", output), 0);
    cr_expect_str_eq(output, usage);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        cr_expect_eq(check_arguments(wrong[i], output), 2, "%s", wrong[i]);
        cr_expect_str_eq(output, usage, "%s: %s", wrong[i], output);
    }
}

/* Changes that break each promise. */
static const struct {
    const char *promise;
    struct change changes[CHANGES_MAX];
} broken[] = {
    {"no read is stale and no update is lost",
     {{"'conversation':'v'},'got':" VERSION(",'k0':5"), "'conversation':'v'},'got':" VERSION("")}}},
    {"no acknowledged create is lost",
     {{"'conversations':[" VERSION(",'k0':5") "]", "'conversations':[]"}}},
    {"a request answered 503 or refused wrote nothing", {{"'status':201", "'status':503"}}},
    {"every value is from a write that may have been carried out",
     {{"11010000,'status':200", "11010000,'status':503"}}},
    {"a response has its entry", {{"['r2','conversation.update',200,'v'],", ""}}},
    {"no response has two entries", {{"['r2',", "['r1','conversation.create',201,'v'],['r2',"}}},
    {"an entry has the response's status",
     {{"['r3','conversation.get',200", "['r3','conversation.get',404"}}},
    {"every entry is from a request", {{"'r3','args'", "'r9','args'"}}},
    {"a response is about the requested conversation",
     {{"'ext':'x-0','contact':'c-0','attrs'", "'ext':'x-1','contact':'c-0','attrs'"}}},
    {"a delivery is signed", {{"'signed':true", "'signed':false"}}},
    {"each event is delivered", {{"{'type':'delivery','org':0", "{'type':'delivery','org':1"}}},
    {"an event is about an existing conversation", {{"'data':{'id':'v'", "'data':{'id':'w'"}}},
    {"the seal verifies", {{"{'ok':true}", "{'ok':false}"}}},
    {"nothing fails without a fault", {{"12010000,'status':200", "12010000,'status':500"}}},
    {"no response is late", {{"12010000", "19010000"}}},
    {"an error has the documented form", {{"12010000,'status':200", "12010000,'status':404"}}},
    {"a request gets the expected status", {{"12010000,'status':200", "12010000,'status':404"}}},
    {"replays, and only replays, are marked", {{"'status':201", "'status':200"}}},
    {"an external id has one conversation", {{"'got':{'id':'v'", "'got':{'id':'w'"}}},
    {"a new conversation has the given attributes",
     {{"'contact':'c-0','born':1}", "'contact':'c-0','born':2}"}}},
    {"an update responds with what it wrote", {{"'set':{'k0':5}", "'set':{'k0':6}"}}},
    {"every attribute was written by a request", {{"'set':{'k0':5}", "'set':{'k1':5}"}}},
    {"an update advances updated_at",
     {{"'k0':5},'created':1700000010,'updated':1700000011",
       "'k0':5},'created':1700000010,'updated':1699999990"}}},
    {"a search finds only the contact's conversations",
     {{"{'contact':'c-0','page':0,'final'", "{'contact':'c-1','page':0,'final'"}}},
    {"an entry names the operation", {{"['r3','conversation.get'", "['r3','conversation.search'"}}},
    {"an entry names the conversation",
     {{"'conversation.get',200,'v'", "'conversation.get',200,null"}}},
    {"a delivery has the documented form", {{"'status':'active'", "'state':'active'"}}},
    {"a conflict is with another create", {{"'status':201", "'status':409"}}},
    {"a replay is of an existing conversation", {{"'status':201", "'replay':true,'status':200"}}},
    {"a conversation stays with its contact",
     {{"{'contact':'c-0','page':0,'final'", "{'contact':'c-1','page':0,'final'"}}},
    {"every conversation was created by a request",
     {{"'conversations':[{'id':'v','ext':'x-0'", "'conversations':[{'id':'v','ext':'x-9'"}}},
    {"updated_at does not go back",
     {{"'conversation':'v'},'got':" VERSION(",'k0':5"),
       "'conversation':'v'},'got':" VERSION_OF(",'k0':5", "1700000010")}}},
    {"a request without a key has no entry", {{"12010000,'status':200", "12010000,'status':401"}}},
    {"a use of a key gets 200 or 401", {{"13010000,'status':200", "13010000,'status':403"}}},
    {"a key works until it is revoked", {{"13010000,'status':200", "13010000,'status':401"}}},
    {"a response is from the key's organization",
     {{"'organization_id':'o'", "'organization_id':'p'"}}},
    {"server_time is the time of the response",
     {{"'server_time':1700000013", "'server_time':1700000099"}}},
    {"each attempt has its own id", {{LAST, DELIVERY LAST}}},
    {"only one of racing creates gets 201",
     {{LAST, OP("create", "10", "201", "r7", "{'ext':'x-0','contact':'c-0','born':1}", VERSION(""))
                 LAST}}},
    {"every page but the last is full",
     {{LAST, OP("search", "16", "200", "r8", "{'contact':'c-0','walk':1,'page':0,'per_page':2}",
                "{'conversations':[" VERSION(",'k0':5") "],'total':1,'more':true}")
                 OP("search", "17", "200", "r9", "{'contact':'c-0','walk':1,'page':1,'per_page':2}",
                    "{'conversations':[],'total':1,'more':false}") LAST}}},
    {"a running gateway responds",
     {{LAST, "{'type':'fault','what':'stop:conversation-0:9','begin':90000000,'end':92000000}\n" OP(
                 "get", "91", "0", "", "{'conversation':'v'}", "null") LAST}}},
    {"a running gateway responds",
     {{LAST, FAULT("cut:nats/gateway-0:9", "90", "92") FAILURE("0", "", "") LAST}}},
    {"a running gateway responds",
     {{LAST, FAULT("kill:gateway-0:0", "80", "80") FAULT("cut:nats/gateway-0:9", "90", "92")
                 FAILURE("0", "", "") LAST}}},
    {"no read is stale and no update is lost",
     {{LAST,
       LOST_UPDATE OP("get", "17", "200", "r8", "{'conversation':'v'}", VERSION(",'k0':7")) LAST}}},
    {"updated_at does not go back",
     {{LAST, OP("get", "17", "200", "r8", "{'conversation':'v'}",
                VERSION_OF(",'k0':5", "1700000012")) LAST}}},
    {"every entry is from a request",
     {{"['r6','ping'", "['r9','ping',200,null],['r6','ping'"},
      {LAST, FAULT("kill:gateway-0:0", "19", "20")
                 OP("get", "19", "0", "", "{'conversation':'v'}", "null") LAST}}},
    {"every entry is from a request",
     {{"['r6','ping'", "['r9','conversation.get',200,'v'],['r6','ping'"},
      {LAST, FAULT("kill:gateway-0:0", "19", "20")
                 OP("get", "19", "0", "", "{'conversation':'v'}", "null,'sent':false") LAST}}},
    {"a request answered 503 or refused wrote nothing",
     {{"'conversations':[{'id':'v','ext':'x-0'", "'conversations':[{'id':'v','ext':'denied'"}}},
    {"a revoked key is refused in time",
     {{LAST, FAULT("cut:nats/access-0:900", "15", "16") FAULT("stop:access-0:900", "80", "82")
                 USE("83") LAST}}},
    {"server_time is the time of the response",
     {{"'server_time':1700000013", "'server_time':1700000016"},
      {LAST, FAULT("ahead:gateway-1:9", "12", "14") LAST}}},
    {"a running gateway responds",
     {{LAST, FAULT("ahead:gateway-0:9", "90", "92") FAILURE("0", "", "") LAST}}},
    {"no response is late",
     {{"12010000", "21010000"}, {LAST, FAULT("behind:gateway-0:9", "12", "19") LAST}}},
    {"a revoked key is refused in time",
     {{LAST, FAULT("ahead:access-0:900", "14", "19") USE("19") LAST}}},
    {"a revoked key is refused in time",
     {{LAST, FAULT("behind:gateway-0:900", "14", "20") USE("20") LAST}}},
    /* A fault explains only what depends on it. */
    {"nothing fails without a fault",
     {{LAST, FAULT("stop:webhook-0:900", "90", "92") FAILURE("500", "r8", "server_error") LAST}}},
    {"nothing fails without a fault",
     {{LAST, FAULT("cut:nats/gateway-1:9", "90", "92") FAILURE("500", "r8", "server_error") LAST}}},
    {"nothing fails without a fault",
     {{LAST, FAULT("cut:postgres/search-0:9", "90", "92") FAILURE("503", "r8", "x") LAST}}},
    {"nothing fails without a fault",
     {{LAST, FAULT("kill:conversation-0:0", "80", "81") FAILURE("503", "r8", "x") LAST}}},
    {"no response is late",
     {{"12010000", "19010000"}, {LAST, FAULT("pause:nats/gateway-0:9", "12", "19") LAST}}},
    {"a revoked key is refused in time", {{LAST, USE("19") LAST}}},
    {"a revoked key is refused in time",
     {{LAST, FAULT("stop:webhook-0:900", "14", "19") USE("19") LAST}}},
    {"a revoked key is refused in time",
     {{LAST, FAULT("cut:nats/access-0:900", "14", "15") USE("24") LAST}}},
    {"an event arrives again only after an interrupted attempt",
     {{LAST, FAULT("cut:postgres/audit-0:9", "11", "12") DELIVERY_OF("d2", "12") LAST}}},
    {"an event arrives again only after an interrupted attempt",
     {{LAST, FAULT("slow:postgres/webhook-0:9", "11", "12") DELIVERY_OF("d2", "12") LAST}}},
    {"an event arrives again only after an interrupted attempt",
     {{LAST, FAULT("kill:webhook-0:0", "11", "12") DELIVERY_OF("d2", "19") DELIVERY_OF("d3", "25")
                 LAST}}},
    {"an event arrives at most three times",
     {{LAST, FAULT("kill:webhook-0:900", "11", "15") DELIVERY_OF("d2", "12") DELIVERY_OF("d3", "13")
                 DELIVERY_OF("d4", "14") LAST}}},
    /* A write whose response was lost. */
    {"a write that was carried out has one entry",
     {{"'status':201", "'status':500"}, {"['r1','conversation.create',201,'v'],", ""}}},
    {"a write that was carried out has one entry",
     {{"['r2',", "['r8','conversation.create',201,'v'],['r2',"}}},
    {"a write that was carried out has one entry",
     {{"11010000,'status':200", "11010000,'status':500"},
      {"['r2','conversation.update',200,'v'],", ""}}},
    {"a write that was carried out has one entry",
     {{"'status':200,'id':'r2'", "'status':0,'id':''"},
      {"['r2','conversation.update',200,'v'],", ""}}},
    {"a write that was carried out has one entry",
     {{"'status':200,'id':'r2'", "'status':0,'id':''"},
      {"['r2',", "['r8','conversation.update',200,'v'],['r2',"}}},
    /* The contents that a conversation was created with. */
    {"a conversation keeps the values of its creation",
     {{"'conversation':'v'},'got':{'id':'v','ext':'x-0','contact':'c-0','attrs':{'born':1,",
       "'conversation':'v'},'got':{'id':'v','ext':'x-0','contact':'c-0','attrs':{'born':2,"}}},
    {"a conversation keeps the values of its creation",
     {{"'args':{'conversation':'v'},'got':{'id':'v','ext':'x-0'",
       "'args':{'conversation':'v'},'got':{'id':'v','ext':'x-2'"}}},
    {"a conversation keeps the values of its creation", {{"'kind':'even'", "'kind':'odd'"}}},
    {"a conversation keeps the values of its creation", {{"'attrs':{'born':1,", "'attrs':{"}}},
    {"a conversation keeps the values of its creation",
     {{"'begin':10000000,'end':10010000,'status':201",
       "'begin':22000000,'end':22010000,'status':500"}}},
    {"a conversation keeps the values of its creation",
     {{"'born':1},'got':{'id':'v','ext':'x-0','contact':'c-0','attrs':{'born':1,",
       "'born':2},'got':{'id':'v','ext':'x-0','contact':'c-0','attrs':{'born':2,"},
      {LAST, OP("create", "10", "200", "r8", "{'ext':'x-0','contact':'c-0','born':1}", VERSION(""))
                 LAST}}},
    {"a request answered 503 or refused wrote nothing",
     {{"'born':1},'got':{'id':'v','ext':'x-0','contact':'c-0','attrs':{'born':1,",
       "'born':2},'got':{'id':'v','ext':'x-0','contact':'c-0','attrs':{'born':2,"},
      {LAST,
       OP("create", "10", "503", "r8", "{'ext':'x-0','contact':'c-0','born':1}", "{}") LAST}}},
    {"every attribute was written by a request", {{",'k0':5},'created'", ",'z':5},'created'"}}},
    /* Lists and errors. */
    {"total_count counts all pages", {{"'total':1", "'total':0"}}},
    {"total_count counts all pages", {{"'total':1", "'total':2"}}},
    {"total_count counts all pages",
     {{LAST, OP("search", "16", "200", "r8",
                "{'contact':'c-0','walk':1,'page':0,'kind':'odd','per_page':2}",
                "{'conversations':[],'total':1,'page':1,'more':false}") LAST}}},
    {"a page has the right number", {{"'page':1", "'page':2"}}},
    {"an error has a code that fits its status",
     {{LAST, FAULT("stop:nats:900", "90", "92") FAILURE("503", "r8", "server_error") LAST}}},
    {"an error has a code that fits its status",
     {{LAST, FAULT("stop:nats:900", "90", "92") FAILURE("500", "r8", "service_unavailable") LAST}}},
    {"a response is about the requested conversation",
     {{"'args':{'conversation':'v'},'got'", "'args':{'conversation':'v','ext':'x-2'},'got'"}}},
};

Test(check_history, finds_each_broken_promise)
{
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        char output[OUTPUT_MAX], line[200];

        snprintf(line, sizeof(line), "BROKEN    %s: ", broken[i].promise);
        cr_expect_eq(check(broken[i].changes, output), 1, "%zu %s", i, broken[i].promise);
        cr_expect_not_null(strstr(output, line), "%zu %s\n%s", i, broken[i].promise, output);
    }
}

/* Errors that a fault explains, and what the response to a write leaves open. */
static const struct change explained[][CHANGES_MAX] = {
    {{LAST, FAULT("kill:gateway-0:0", "80", "80") FAULT("cut:nats/gateway-0:9", "81", "92")
                FAILURE("0", "", "") LAST}},
    {{"['r6','ping'", "['r9','conversation.get',200,'v'],['r6','ping'"},
     {LAST, FAULT("kill:gateway-0:0", "19", "20")
                OP("get", "19", "0", "", "{'conversation':'v'}", "null") LAST}},
    {{"'server_time':1700000013", "'server_time':1700000016"},
     {LAST, FAULT("ahead:gateway-0:9", "12", "14") LAST}},
    {{"'kind':'even'},'created':1700000010,'updated':1700000011",
      "'kind':'even'},'created':1700000010,'updated':1700000007"},
     {"'k0':5},'created':1700000010,'updated':1700000011",
      "'k0':5},'created':1700000010,'updated':1700000007"},
     {LAST, FAULT("behind:postgres:9", "10", "12") LAST}},
    {{"12010000", "19010000"}, {LAST, FAULT("behind:gateway-0:9", "12", "19") LAST}},
    {{LAST, FAULT("behind:gateway-0:900", "14", "19") USE("18") LAST},
     {"['r6','ping'", "['r9','ping',200,null],['r6','ping'"}},
    {{LAST, LOST_UPDATE LAST}},
    {{LAST, FAULT("kill:postgres:0", "80", "80") FAULT("recover:postgres:0", "80", "88")
                FAILURE("503", "r8", "service_unavailable") LAST}},
    {{LAST,
      FAULT("stop:conversation-1:900", "90", "92") FAILURE("500", "r8", "server_error") LAST}},
    {{LAST,
      FAULT("cut:postgres/all:900", "85", "86") FAILURE("503", "r8", "service_unavailable") LAST}},
    {{LAST, FAULT("kill:gateway-0:0", "90", "91") FAILURE("0", "", "") LAST}},
    {{LAST, FAULT("cut:nats/access-0:900", "10", "12") USE("19") LAST},
     {"['r6','ping'", "['r9','ping',200,null],['r6','ping'"}},
    {{LAST, FAULT("cut:nats/access-0:900", "14", "15") FAULT("stop:access-0:900", "20", "22")
                USE("24") LAST}},
    {{LAST, FAULT("kill:webhook-0:0", "11", "12") DELIVERY_OF("d2", "12") LAST}},
    {{"'status':200,'id':'r2'", "'status':0,'id':''"},
     {LAST, FAULT("kill:gateway-0:0", "11", "12") LAST}},
    {{"'status':201,'id':'r1','args':{'ext':'x-0','contact':'c-0','born':1},'got':",
      "'status':0,'id':'','args':{'ext':'x-0','contact':'c-0','born':1},'was':"},
     {LAST, FAULT("kill:gateway-0:0", "10", "11") LAST}},
};

Test(check_history, accepts_explained_parsers)
{
    for (size_t i = 0; i < ARRAY_SIZE(explained); i++) {
        char output[OUTPUT_MAX];

        cr_expect_eq(check(explained[i], output), 0, "%zu\n%s", i, output);
    }
}

Test(check_history, distinguishes_a_broken_file_from_a_broken_promise)
{
    char output[OUTPUT_MAX];

    cr_expect_eq(check((struct change[CHANGES_MAX]){{"'type':'org'", "'type':'orb'"}}, output), 2,
                 "%s", output);
}

Test(check_history, judges_no_run_that_did_not_come_to_its_end)
{
    char output[OUTPUT_MAX];

    cr_expect_eq(check((struct change[CHANGES_MAX]){{END, ""}}, output), 2, "%s", output);
    cr_expect_not_null(strstr(output, "the run did not come to its end"), "%s", output);
}

enum { MANY = 10001 };

/* A walk through the only page, and the refusal of the revoked key. */
#define WALK                                                                                       \
    OP("search", "16", "200", "r8", "{'contact':'c-0','walk':1,'page':0,'per_page':2}",            \
       "{'conversations':[" VERSION(",'k0':5") "],'total':1,'page':1,'more':false}")
#define REFUSAL                                                                                    \
    OP("ping", "30", "401", "r9", "{'scope':'full','key':'a'}",                                    \
       "{'request_id':'r9','code':'unauthorized'}")

/* MANY pings at 100 s, with a fault that lasts the whole run, and these lines. */
static int check_many_during(const char *what, const char *others, char output[OUTPUT_MAX])
{
    const char *ping = OP("ping", "100", "200", "p", "{'scope':'full'}",
                          "{'organization_id':'o','scope':'full','server_time':1700000100}");
    const struct change walk = {"['r6','ping'",
                                "['r8','conversation.search',200,null],['r6','ping'"};
    char fault[200], text[sizeof(sound)];
    FILE *file = open_history();

    memcpy(text, sound, sizeof(text));
    change(text, &walk);
    snprintf(fault, sizeof(fault), "{'type':'fault','what':'%s','begin':0,'end':200000000}\n",
             what);
    write_json(file, text, strlen(text));
    write_json(file, fault, strlen(fault));
    write_json(file, others, strlen(others));
    for (int i = 0; i < MANY; i++)
        write_json(file, ping, strlen(ping));
    return check_file(file, output);
}

Test(check_history, rejects_a_long_run_without_anything_to_which_a_promise_applies)
{
    char output[OUTPUT_MAX];

    cr_expect_eq(check_many_during("slow:nats/all:9", WALK REFUSAL, output), 2, "%s", output);
    cr_expect_not_null(strstr(output, "no requests that no fault can have disturbed"), "%s",
                       output);
    cr_expect_eq(check_many_during("slow:nats/webhook-0:9", WALK, output), 2, "%s", output);
    cr_expect_not_null(strstr(output, "no uses of revoked keys"), "%s", output);
    cr_expect_eq(check_many_during("slow:nats/webhook-0:9", WALK REFUSAL, output), 0, "%s", output);
}
