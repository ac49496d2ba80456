#include "common/bus/links.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"

enum {
    /* The other servers learn of a subscription within a few milliseconds. */
    OVERLAP_US = 500 * 1000,
    LEFT_US = 30000 * 1000, /* at most; usually the server closes the link earlier */
    GOODBYE_US = 500 * 1000,
    STEP_MS = 500, /* how often the end of a link that was left is looked for */
};

static struct metric *denials; /* of all buses of the process */

void links_metrics_open(void)
{
    denials = metric_counter("conversations_bus_permission_violations_total", NULL,
                             "Messages and subscriptions that the bus denied");
}

/* -- what links tell ----------------------------------------------------------------------------- */

static void tell(struct bus_links *links)
{
    pthread_mutex_lock(&links->lock);
    bool up = link_can_call(atomic_load(&links->in_use));
    if (up != atomic_load(&links->told_up)) {
        atomic_store(&links->told_up, up);
        if (links->options->on_link != NULL)
            links->options->on_link(links->options->closure, up);
    }
    pthread_mutex_unlock(&links->lock);
}

/* For a link that is not in use yet, adopt() reports the change. */
static void on_socket(void *closure, struct bus_link *link)
{
    struct bus_links *const links = closure;
    const struct bus_link *in_use = atomic_load(&links->in_use);

    if (in_use == NULL || in_use == link)
        atomic_fetch_add(&links->n_changes, 1);
    tell(links);
}

static void on_denied(void *closure, bool of_publish)
{
    struct bus_links *const links = closure;

    atomic_fetch_add(&links->denials, 1);
    if (of_publish)
        atomic_fetch_add(&links->denied_publishes, 1);
    if (denials != NULL)
        metric_add(denials, 1);
}

static const struct link_events events = {on_socket, on_denied};

/* -- the life of a link -------------------------------------------------------------------------- */

/* Makes it the link in use. */
static void adopt(struct bus_links *links, struct bus_link *link)
{
    subscriptions_attach(links->subscriptions, link);
    requests_attach(links->requests, link);
    atomic_store(&links->in_use, link);
    atomic_fetch_add(&links->n_changes, 1);
    tell(links);
}

static void release(struct bus_links *links, struct bus_link *link)
{
    subscriptions_detach(links->subscriptions, link);
    requests_detach(links->requests, link);
    link_release(link);
}

/* Messages that wait in its subscriptions are lost with it. */
static void give_up_ended(struct bus_links *links)
{
    struct bus_link *link = atomic_load(&links->in_use);

    if (link == NULL || !atomic_load(&link->ended))
        return;
    link_close(link);
    atomic_store(&links->in_use, NULL);
    release(links, link);
    tell(links);
}

void links_dial(struct bus_links *links)
{
    dialer_start(&links->dialer, &links->at[links->at[0].nats != NULL]);
}

/* -- reading and writing ------------------------------------------------------------------------- */

static void read_from(struct bus_links *links, struct bus_link *link)
{
    link_read(link);
    requests_deliver(links->requests);
}

void links_read(struct bus_links *links)
{
    struct bus_link *link = atomic_load(&links->in_use);

    if (link_can_call(link))
        read_from(links, link);
}

/* The descriptor of a lost link may have been reused. While its lock is held, nats.c does not close
   it. */
static bool is_open(const struct bus_move *move)
{
    return move->socket >= 0 && atomic_load(&move->left->socket) == move->socket;
}

static void watch(struct bus_links *links, int operation, uint32_t which)
{
    struct bus_move *move = &links->move;
    struct epoll_event event = {.events = which};

    pthread_mutex_lock(&move->left->lock);
    if (is_open(move))
        (void)epoll_ctl(links->changed_fd, operation, move->socket, &event);
    pthread_mutex_unlock(&move->left->lock);
    move->events = which;
}

void links_read_left(struct bus_links *links)
{
    const struct bus_move *move = &links->move;
    struct pollfd fd = {.fd = move->socket, .events = POLLIN};
    bool is_readable;

    if (move->left == NULL || move->closing)
        return;
    pthread_mutex_lock(&move->left->lock);
    is_readable = is_open(move) && poll(&fd, 1, 0) == 1;
    pthread_mutex_unlock(&move->left->lock);
    /* Read only when there is something: with TLS nats.c would wait for the rest of a record. */
    if (is_readable)
        read_from(links, move->left);
}

static void push_left(struct bus_links *links)
{
    struct bus_link *const left = links->move.left;
    uint32_t which;

    if (left == NULL || links->move.closing)
        return;
    link_push(left);
    left->blocked = atomic_load(&left->write_wanted);
    which = left->blocked ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (which != links->move.events)
        watch(links, EPOLL_CTL_MOD, which);
}

void links_push(struct bus_links *links)
{
    struct bus_link *link = atomic_load(&links->in_use);

    if (link != NULL)
        link_push(link);
    push_left(links);
}

bool links_are_flushed(struct bus_links *links)
{
    struct bus_link *link = atomic_load(&links->in_use);

    if (link == NULL)
        return true;
    link->blocked = link_can_call(link) && atomic_load(&link->write_wanted);
    return !link->blocked;
}

/* -- to another link ----------------------------------------------------------------------------- */

static void leave(struct bus_links *links, struct bus_link *left)
{
    const int64_t now_us = clock_mono_us();

    links->move = (struct bus_move){
        .left = left,
        .socket = atomic_load(&left->socket),
        .drain_us = now_us + OVERLAP_US,
        .end_us = now_us + LEFT_US,
    };
    watch(links, EPOLL_CTL_ADD, EPOLLIN);
}

void links_move(struct bus_links *links)
{
    struct bus_link *const before = atomic_load(&links->in_use);
    struct bus_link *const dialed = before != NULL ? dialer_take(&links->dialer) : NULL;

    if (dialed == NULL)
        return;
    requests_send(links->requests);
    adopt(links, dialed);
    leave(links, before);
    LOG(LOG_INFO, "bus server is shutting down; moved to another");
}

/* -- ending the link left ------------------------------------------------------------------------ */

static void *close_left(void *arg)
{
    struct bus_link *link = arg;

    link_say_goodbye(link, clock_mono_us() + GOODBYE_US);
    link_close(link);
    nats_ReleaseThreadMemory();
    atomic_store(&link->is_closed, true);
    (void)eventfd_write(link->wake_fd, 1);
    return NULL;
}

static void begin_closing(struct bus_links *links)
{
    struct bus_move *move = &links->move;

    watch(links, EPOLL_CTL_DEL, 0);
    atomic_store(&move->left->closing, true);
    /* EAGAIN: the next step tries again. */
    move->closing = pthread_create(&move->closer, NULL, close_left, move->left) == 0;
}

static void end_closing(struct bus_links *links)
{
    struct bus_link *const left = links->move.left;

    pthread_join(links->move.closer, NULL);
    links->move = (struct bus_move){.left = NULL};
    release(links, left);
}

/* Nothing more will come over it, and nothing waits to leave. */
static bool is_settled(const struct bus_links *links)
{
    const struct bus_link *const left = links->move.left;

    return links->move.draining && !atomic_load(&left->write_wanted) &&
           subscriptions_are_drained(links->subscriptions) &&
           !requests_await(links->requests, left);
}

static void end_left(struct bus_links *links)
{
    struct bus_move *move = &links->move;
    const int64_t now_us = clock_mono_us();

    if (move->closing) {
        if (atomic_load(&move->left->is_closed))
            end_closing(links);
    } else if (!link_can_call(move->left) || now_us >= move->end_us || is_settled(links)) {
        begin_closing(links);
    } else if (!move->draining && now_us >= move->drain_us) {
        subscriptions_drain(links->subscriptions);
        move->draining = true;
    }
}

/* One move at a time: if another server announces its end during one, its turn comes after that. */
static void step_of_move(struct bus_links *links)
{
    const struct bus_link *const link = atomic_load(&links->in_use);

    if (links->move.left != NULL)
        end_left(links);
    else if (link_can_call(link) && atomic_load(&link->is_lame) && !links->dialer.is_running)
        links_dial(links);
}

int links_wait_ms(const struct bus_links *links, int timeout_ms)
{
    const bool needs_steps = links->move.left != NULL && !links->move.closing;

    return needs_steps && timeout_ms > STEP_MS ? STEP_MS : timeout_ms;
}

/* -- all of it ----------------------------------------------------------------------------------- */

void links_step(struct bus_links *links)
{
    struct bus_link *dialed;

    give_up_ended(links);
    if (atomic_load(&links->in_use) == NULL && (dialed = dialer_take(&links->dialer)) != NULL) {
        adopt(links, dialed);
        give_up_ended(links); /* it may have ended before */
    }
    if (links->is_ending)
        return;
    if (atomic_load(&links->in_use) == NULL && !links->dialer.is_running)
        links_dial(links);
    step_of_move(links);
}

void links_init(struct bus_links *links, const struct bus_options *options,
                struct bus_subscriptions *subscriptions, struct bus_requests *requests)
{
    struct epoll_event event = {.events = EPOLLIN};

    *links = (struct bus_links){
        .options = options, .subscriptions = subscriptions, .requests = requests};
    links->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    links->changed_fd = epoll_create1(EPOLL_CLOEXEC);
    must(links->wake_fd >= 0 && links->changed_fd >= 0);
    must(epoll_ctl(links->changed_fd, EPOLL_CTL_ADD, links->wake_fd, &event) == 0);
    must(pthread_mutex_init(&links->lock, NULL) == 0);
    for (int i = 0; i < BUS_LINKS; i++)
        link_init(&links->at[i], i, links->wake_fd, &events, links);
    dialer_init(&links->dialer, options, links->wake_fd, &links->told_up);
}

void links_end(struct bus_links *links)
{
    links->is_ending = true;
    dialer_stop(&links->dialer);
    if (links->move.closing)
        end_closing(links);
    links->move.left = NULL;
    for (int i = 0; i < BUS_LINKS; i++)
        atomic_store(&links->at[i].closing, true);
}

void links_close(struct bus_links *links)
{
    for (int i = 0; i < BUS_LINKS; i++) {
        struct bus_link *link = &links->at[i];

        if (link->nats == NULL)
            continue;
        if (link_can_call(link))
            link_say_goodbye(link, clock_mono_us() + GOODBYE_US);
        link_close(link);
        if (link == atomic_load(&links->in_use))
            atomic_store(&links->in_use, NULL);
        release(links, link);
    }
}

void links_release(struct bus_links *links)
{
    for (int i = 0; i < BUS_LINKS; i++)
        link_destroy(&links->at[i]);
    pthread_mutex_destroy(&links->lock);
    close(links->wake_fd);
    close(links->changed_fd);
}
