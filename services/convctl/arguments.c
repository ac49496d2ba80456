#include "services/convctl/arguments.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "common/base/uuid.h"
#include "services/convctl/convctl_call.h"

/* A command line being read. */
struct reader {
    const char *const *argv;
    int argc, next;
    bool only_positions; /* "--" was seen */
    bool given[CONVCTL_ARGUMENTS_MAX];
    const struct argument *list; /* repeatable, may take this word as well; or NULL */
    struct arguments *into;
    char *error;
};

__attribute__((format(printf, 2, 3))) static enum status wrong(struct reader *reader,
                                                               const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(reader->error, 256, format, args);
    va_end(args);
    return ST_REFUSED;
}

static const char *name_of(const struct argument *argument)
{
    return argument->option != NULL ? argument->option : argument->label;
}

/* -- values ---------------------------------------------------------------------------------- */

static bool is_choice(const char *label, const char *text)
{
    struct str rest = str_of(label);

    while (rest.p != NULL) {
        if (str_equal(str_cut(&rest, '|'), str_of(text)))
            return true;
    }
    return false;
}

static bool is_uuid(const char *text)
{
    struct uuid id;

    return uuid_parse(str_of(text), &id);
}

/* NULL if it is not an integer. */
static json_t *integer_of(const char *text)
{
    const bool is_negative = text[0] == '-';
    uint64_t count;

    if (!str_to_u64(str_of(text + is_negative), INT64_MAX, &count))
        return NULL;
    return json_integer(is_negative ? -(json_int_t)count : (json_int_t)count);
}

/* The value as JSON; NULL if it is malformed. */
static json_t *value_of(const struct argument *argument, const char *text)
{
    switch (argument->kind) {
    case ARGUMENT_NONE:
        break;
    case ARGUMENT_CHOICE:
        return is_choice(argument->label, text) ? json_string(text) : NULL;
    case ARGUMENT_BOOL:
        if (!is_choice("true|false", text))
            return NULL;
        return json_boolean(str_equal(str_of(text), STR("true")));
    case ARGUMENT_COUNT:
        return integer_of(text);
    case ARGUMENT_COUNT_OR_DEFAULT:
        return strcmp(text, "default") == 0 ? json_null() : integer_of(text);
    case ARGUMENT_UUID:
        return is_uuid(text) ? json_string(text) : NULL;
    case ARGUMENT_JSON:
        return json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    case ARGUMENT_OFF:
        return json_false();
    case ARGUMENT_EMPTY:
        return json_array();
    case ARGUMENT_TEXT:
    case ARGUMENT_ORGANIZATION:
    case ARGUMENT_STDIN:
        break;
    }
    return json_string(text); /* NULL if it is not UTF-8 */
}

static const char *expected(const struct argument *argument)
{
    switch (argument->kind) {
    case ARGUMENT_NONE:
        break;
    case ARGUMENT_CHOICE:
    case ARGUMENT_BOOL:
        return argument->label;
    case ARGUMENT_COUNT:
        return "an integer";
    case ARGUMENT_COUNT_OR_DEFAULT:
        return "an integer or default";
    case ARGUMENT_UUID:
    case ARGUMENT_ORGANIZATION:
        return "a UUID in lower case";
    case ARGUMENT_JSON:
        return "JSON";
    case ARGUMENT_TEXT:
    case ARGUMENT_OFF:
    case ARGUMENT_EMPTY:
    case ARGUMENT_STDIN:
        break;
    }
    return "text in UTF-8";
}

static void put(struct arguments *into, const struct argument *argument, json_t *value)
{
    json_t *list;

    if (!argument->repeated) {
        json_object_set_new(into->body, argument->field, value);
        return;
    }
    list = json_object_get(into->body, argument->field);
    if (list == NULL) {
        list = json_array();
        json_object_set_new(into->body, argument->field, list);
    }
    json_array_append_new(list, value);
}

/* Another given option that sets the same member; NULL = none. */
static const struct argument *rival_of(const struct reader *reader, size_t index)
{
    const struct argument *all = reader->into->call->arguments;

    for (size_t i = 0; reader->into->call->arguments[i].kind != ARGUMENT_NONE; i++)
        if (i != index && reader->given[i] && all[i].field != NULL && all[index].field != NULL &&
            strcmp(all[i].field, all[index].field) == 0)
            return &all[i];
    return NULL;
}

static enum status take(struct reader *reader, size_t index, const char *text)
{
    const struct argument *argument = &reader->into->call->arguments[index];
    const struct argument *rival = rival_of(reader, index);
    json_t *value;

    if (reader->given[index] && !argument->repeated)
        return wrong(reader, "%s is given twice", name_of(argument));
    if (rival != NULL)
        return wrong(reader, "%s and %s exclude each other", name_of(rival), name_of(argument));
    reader->given[index] = true;
    if (argument->kind == ARGUMENT_ORGANIZATION) {
        if (!is_uuid(text))
            return wrong(reader, "%s must be %s", name_of(argument), expected(argument));
        reader->into->organization = text;
        return ST_OK;
    }
    value = value_of(argument, text);
    if (value == NULL)
        return wrong(reader, "%s must be %s", name_of(argument), expected(argument));
    put(reader->into, argument, value);
    return ST_OK;
}

/* -- words ----------------------------------------------------------------------------------- */

/* The value of an option: after its "=", or the next word. */
static enum status option_value(struct reader *reader, const char *word, const char **out)
{
    const char *equals = strchr(word, '=');

    if (equals != NULL) {
        *out = equals + 1;
        return ST_OK;
    }
    if (reader->next == reader->argc)
        return wrong(reader, "%s needs a value", word);
    *out = reader->argv[reader->next++];
    return ST_OK;
}

static bool is_option(const char *word, const char *option)
{
    size_t n = strlen(option);

    return strncmp(word, option, n) == 0 && (word[n] == '\0' || word[n] == '=');
}

/* An option without a value. */
static enum status read_switch(struct reader *reader, size_t index, const char *word)
{
    const struct argument *argument = &reader->into->call->arguments[index];

    if (strchr(word, '=') != NULL)
        return wrong(reader, "%s takes no value", argument->option);
    if (argument->kind != ARGUMENT_STDIN)
        return take(reader, index, "");
    reader->into->stdin_field = argument->field;
    return ST_OK;
}

static enum status read_option(struct reader *reader, const char *word)
{
    const struct convctl_call *call = reader->into->call;
    const char *value = "";
    enum status st;

    reader->list = NULL;
    if (is_option(word, "--nats"))
        return option_value(reader, word, &reader->into->nats_url);
    for (size_t i = 0; call != NULL && call->arguments[i].kind != ARGUMENT_NONE; i++) {
        const struct argument *argument = &call->arguments[i];

        if (argument->option == NULL || !is_option(word, argument->option))
            continue;
        if (argument->kind == ARGUMENT_STDIN || argument->kind == ARGUMENT_OFF ||
            argument->kind == ARGUMENT_EMPTY)
            return read_switch(reader, i, word);
        st = option_value(reader, word, &value);
        reader->list = argument->repeated ? argument : NULL;
        return st == ST_OK ? take(reader, i, value) : st;
    }
    return wrong(reader, "unknown option %.*s", (int)strcspn(word, "="), word);
}

static enum status read_position(struct reader *reader, const char *word)
{
    const struct convctl_call *call = reader->into->call;

    for (size_t i = 0; call->arguments[i].kind != ARGUMENT_NONE; i++) {
        if (call->arguments[i].option == NULL && !reader->given[i])
            return take(reader, i, word);
    }
    if (reader->list != NULL)
        return take(reader, (size_t)(reader->list - call->arguments), word);
    return wrong(reader, "too many arguments");
}

static enum status read_verb(struct reader *reader, const char *verb)
{
    struct arguments *into = reader->into;
    const struct convctl_call *call = convctl_call_find(into->group, verb);

    if (call == NULL)
        return wrong(reader, "unknown verb of %s, see convctl %s --help", into->group, into->group);
    into->call = call;
    for (size_t i = 0; call->arguments[i].kind != ARGUMENT_NONE; i++) {
        if (call->arguments[i].field != NULL && into->body == NULL)
            into->body = json_object();
    }
    return ST_OK;
}

static enum status read_word(struct reader *reader, const char *word)
{
    struct arguments *into = reader->into;

    if (!reader->only_positions && strncmp(word, "--", 2) == 0) {
        if (word[2] == '\0') {
            reader->only_positions = true;
            reader->list = NULL;
        } else if (strcmp(word, "--help") == 0) {
            into->help = true;
        } else if (strcmp(word, "--version") == 0) {
            into->version = true;
        } else {
            return read_option(reader, word);
        }
        return ST_OK;
    }
    if (into->group == NULL) {
        if (!convctl_call_has_group(word))
            return wrong(reader, "unknown group, see convctl --help");
        into->group = word;
        return ST_OK;
    }
    return into->call == NULL ? read_verb(reader, word) : read_position(reader, word);
}

/* Whether an option that sets a member of the body was given. */
static bool sets_something(const struct reader *reader)
{
    const struct argument *arguments = reader->into->call->arguments;

    for (size_t i = 0; arguments[i].kind != ARGUMENT_NONE; i++) {
        if (arguments[i].option != NULL && arguments[i].field != NULL && reader->given[i])
            return true;
    }
    return false;
}

static enum status check_complete(struct reader *reader)
{
    const struct arguments *into = reader->into;

    if (into->group == NULL)
        return wrong(reader, "a group is missing, see convctl --help");
    if (into->call == NULL)
        return wrong(reader, "a verb is missing, see convctl %s --help", into->group);
    for (size_t i = 0; into->call->arguments[i].kind != ARGUMENT_NONE; i++) {
        if (into->call->arguments[i].required && !reader->given[i])
            return wrong(reader, "%s is missing", name_of(&into->call->arguments[i]));
    }
    if (into->call->kind == CONVCTL_SETS && !sets_something(reader))
        return wrong(reader, "nothing to change, see convctl %s --help", into->group);
    return ST_OK;
}

enum status arguments_read(int argc, const char *const *argv, struct arguments *out,
                           char error[256])
{
    struct reader reader = {.argv = argv, .argc = argc, .next = 1, .into = out, .error = error};

    *out = (struct arguments){0};
    while (reader.next < argc && !out->help && !out->version) {
        enum status st = read_word(&reader, argv[reader.next++]);

        if (st != ST_OK)
            return st;
    }
    return out->help || out->version ? ST_OK : check_complete(&reader);
}

void arguments_release(struct arguments *arguments)
{
    json_decref(arguments->body);
    arguments->body = NULL;
}

/* -- help -------------------------------------------------------------------------------------- */

static void print_argument(FILE *to, const struct argument *argument)
{
    const char *option = argument->option != NULL ? argument->option : "";
    const char *label = argument->label != NULL ? argument->label : "";
    const char *space = *option != '\0' && *label != '\0' ? " " : "";

    fprintf(to, argument->required ? " %s%s%s" : " [%s%s%s]", option, space, label);
    if (argument->repeated)
        fputs("...", to);
}

static void print_call(FILE *to, const struct convctl_call *call)
{
    fprintf(to, "  convctl %s %s", call->group, call->verb);
    for (size_t i = 0; call->arguments[i].kind != ARGUMENT_NONE; i++)
        print_argument(to, &call->arguments[i]);
    fprintf(to, "\n      %s\n", call->meaning);
}

void help_print(FILE *to, const char *group)
{
    fputs("usage: convctl [--nats URL] GROUP VERB ...\n"
          "       convctl --version | [GROUP] --help\n\n",
          to);
    for (size_t i = 0; i < convctl_calls_count; i++) {
        if (group == NULL || strcmp(group, convctl_calls[i].group) == 0)
            print_call(to, &convctl_calls[i]);
    }
    fputs("\nThe bus is found by NATS_URL, NATS_URL_FILE or --nats; NATS_CA_FILE names its CA\n"
          "certificates, and NATS_CREDS_FILE a credentials file.\n"
          "A password in --nats can be seen by all users of the machine: use NATS_URL or\n"
          "NATS_URL_FILE instead.\n"
          "Prints one JSON value (audit export: one on each line) and exits 0, or\n"
          "{\"error\":{\"code\",\"message\"}} on standard error and exits 1; exits 2 when used "
          "wrongly.\n",
          to);
}
