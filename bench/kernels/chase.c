/* SPDX-License-Identifier: MIT */
/* CHASE: minimum-cost flow by the network simplex method, the work of mcf; all pointers, little arithmetic.
 *
 * A spanning tree of arcs carries the flow, and every other arc is empty or full. Each pivot prices
 * arcs against the potentials of their two nodes, walks from both ends of the best one up to where
 * they meet, pushes flow around the cycle, hangs the part of the tree that came off to its new
 * place and shifts its potentials.
 *
 * The tree is kept such that flow could be sent from every node to the root (zero-flow arcs point
 * up); then the method cannot run in circles. */
#include "kernel.h"

static const struct shape {
    int nodes, arcs;
} shapes[] = {{3500, 50000}, {10000, 200000}, {18000, 1000000}};

enum state { EMPTY, IN_TREE, FULL };

struct node {
    struct node *parent, *child;  /* towards the root; one of those below */
    struct node *older, *younger; /* the others below the same parent */
    struct arc *up;               /* the arc of the tree to the parent, in either direction */
    int64_t potential;            /* up->cost = potential of its tail - potential of its head */
    int64_t supply;
    int depth;
};

struct arc {
    struct node *tail, *head;
    int64_t cost, capacity, flow;
    enum state state;
};

struct network {
    int nodes, arcs, groups; /* arcs are priced a group at a time */
    struct node *node;       /* the root is the one after the last */
    struct arc *arc;         /* those of the root come last, one for each node */
    int group;               /* to be priced next */
    int64_t pivots;
};

/* No path costs as much as one arc of the root. */
enum { MAX_COST = 10000, MAX_CAPACITY = 50, ROOT_COST = 1 << 30, PLENTY = 1 << 30, PATIENCE = 100 };

/* -- The tree -------------------------------------------------------------------------------- */

static void hang(struct node *n, struct node *parent, struct arc *up)
{
    n->parent = parent;
    n->up = up;
    n->older = NULL;
    n->younger = parent->child;
    if (n->younger)
        n->younger->older = n;
    parent->child = n;
}

static void cut(struct node *n)
{
    if (n->older)
        n->older->younger = n->younger;
    else
        n->parent->child = n->younger;
    if (n->younger)
        n->younger->older = n->older;
}

/* Hang the part of the tree below `top` to `parent` by its node `n`: all between n and top turns around. */
static void turn_around(struct node *n, struct node *top, struct node *parent, struct arc *up)
{
    for (;;) {
        struct node *above = n->parent;
        struct arc *up_before = n->up;
        cut(n);
        hang(n, parent, up);
        if (n == top)
            return;
        parent = n;
        up = up_before;
        n = above;
    }
}

/* Shift the potentials of all below and including `top`, and set their depths. */
static void shift_potentials(struct node *top, int64_t by)
{
    struct node *n = top;
    for (;;) {
        n->potential += by;
        n->depth = n->parent->depth + 1;
        if (n->child) {
            n = n->child;
            continue;
        }
        while (n != top && !n->younger)
            n = n->parent;
        if (n == top)
            return;
        n = n->younger;
    }
}

/* -- A pivot --------------------------------------------------------------------------------- */

static int64_t reduced_cost(const struct arc *a)
{
    return a->cost - a->tail->potential + a->head->potential;
}

/* How much cheaper a unit of flow gets if this arc changes: not positive if it is as it should be. */
static int64_t gain(const struct arc *a)
{
    return a->state == EMPTY ? -reduced_cost(a) : a->state == FULL ? reduced_cost(a) : 0;
}

/* The best arc of the next group that has any, or NULL. A group is spread over all arcs, as in mcf. */
static struct arc *price(struct network *net)
{
    struct arc *best = NULL;
    int64_t best_gain = 0;
    for (int tried = 0; tried < net->groups && !best; tried++) {
        for (int i = net->group; i < net->arcs; i += net->groups) {
            int64_t g = gain(&net->arc[i]);
            if (g > best_gain) {
                best_gain = g;
                best = &net->arc[i];
            }
        }
        net->group = (net->group + 1) % net->groups;
    }
    return best;
}

/* What the arc above a node can still carry up (towards the root) or down. */
static int64_t room_up(const struct node *n)
{
    return n->up->tail == n ? n->up->capacity - n->up->flow : n->up->flow;
}

static int64_t room_down(const struct node *n)
{
    return n->up->tail == n ? n->up->flow : n->up->capacity - n->up->flow;
}

static void push_up(struct node *n, int64_t flow)
{
    n->up->flow += n->up->tail == n ? flow : -flow;
}

static struct node *meet(struct node *a, struct node *b)
{
    while (a != b)
        if (a->depth >= b->depth)
            a = a->parent;
        else
            b = b->parent;
    return a;
}

/* The cycle that an arc closes: flow goes over the arc, then through the tree. */
struct cycle {
    struct node *from, *to; /* the ends of the arc, in the direction of the new flow */
    struct node *top;       /* where the ways up from both meet */
    struct node *leaving;   /* the tree breaks above this one; NULL: the arc itself is the limit */
    bool breaks_at_from;    /* leaving is on the side of `from` */
    int64_t flow;
};

/* Find the arc that limits the cycle. Among equals the last one in the direction of flow, seen from the top:
 * this keeps the zero-flow arcs pointing up. */
static struct cycle find_cycle(const struct arc *a)
{
    struct cycle c = {.flow = a->capacity};
    c.from = a->state == EMPTY ? a->tail : a->head;
    c.to = a->state == EMPTY ? a->head : a->tail;
    c.top = meet(c.from, c.to);
    for (struct node *n = c.from; n != c.top; n = n->parent)
        if (room_down(n) < c.flow) {
            c.flow = room_down(n);
            c.leaving = n;
            c.breaks_at_from = true;
        }
    for (struct node *n = c.to; n != c.top; n = n->parent)
        if (room_up(n) <= c.flow) {
            c.flow = room_up(n);
            c.leaving = n;
            c.breaks_at_from = false;
        }
    return c;
}

static void push(struct cycle *c, struct arc *a)
{
    a->flow += a->state == EMPTY ? c->flow : -c->flow;
    for (struct node *n = c->from; n != c->top; n = n->parent)
        push_up(n, -c->flow);
    for (struct node *n = c->to; n != c->top; n = n->parent)
        push_up(n, c->flow);
}

static void pivot(struct arc *a)
{
    struct cycle c = find_cycle(a);
    push(&c, a);
    if (!c.leaving) {
        a->state = a->state == EMPTY ? FULL : EMPTY;
        return;
    }
    struct arc *out = c.leaving->up;
    struct node *moved = c.breaks_at_from ? c.from : c.to;
    struct node *stays = c.breaks_at_from ? c.to : c.from;
    int64_t by = moved == a->tail ? reduced_cost(a) : -reduced_cost(a);
    out->state = out->flow == 0 ? EMPTY : FULL;
    a->state = IN_TREE;
    turn_around(moved, c.leaving, stays, a);
    shift_potentials(moved, by);
}

/* -- The problem ----------------------------------------------------------------------------- */

static void set_arc(struct arc *a, struct node *tail, struct node *head, int64_t cost,
                    int64_t capacity)
{
    *a = (struct arc){.tail = tail, .head = head, .cost = cost, .capacity = capacity};
}

/* At first every node sends its supply to the root, or gets its demand from there. */
static void hang_to_root(struct network *net, struct node *n, struct arc *a)
{
    struct node *root = &net->node[net->nodes];
    bool sends = n->supply >= 0;
    set_arc(a, sends ? n : root, sends ? root : n, ROOT_COST, PLENTY);
    a->flow = llabs(n->supply);
    a->state = IN_TREE;
    n->potential = sends ? ROOT_COST : -ROOT_COST;
    n->depth = 1;
    hang(n, root, a);
}

/* A ring of dear arcs that could carry everything, and random ones. */
static void make_arcs(struct network *net, uint64_t *seed)
{
    for (int i = 0; i < net->nodes; i++)
        set_arc(&net->arc[i], &net->node[i], &net->node[(i + 1) % net->nodes], MAX_COST, PLENTY);
    for (int i = net->nodes; i < net->arcs; i++) {
        struct node *tail = &net->node[nas_below(seed, net->nodes)];
        struct node *head = &net->node[nas_below(seed, net->nodes)];
        int64_t cost = 1 + nas_below(seed, MAX_COST);
        set_arc(&net->arc[i], tail, head, cost, 1 + nas_below(seed, MAX_CAPACITY));
    }
}

static struct network make_network(const struct shape *s)
{
    struct network net = {.nodes = s->nodes, .arcs = s->arcs};
    uint64_t seed = NAS_SEED;
    net.node = kernel_alloc(net.nodes + 1, sizeof *net.node);
    net.arc = kernel_alloc(net.arcs + net.nodes, sizeof *net.arc);
    net.groups = (int)sqrt(net.arcs);
    make_arcs(&net, &seed);
    for (int i = 0; i < net.nodes; i += 2) {
        int64_t supply = nas_below(&seed, MAX_CAPACITY);
        net.node[nas_below(&seed, net.nodes)].supply += supply;
        net.node[nas_below(&seed, net.nodes)].supply -= supply;
    }
    for (int i = 0; i < net.nodes; i++)
        hang_to_root(&net, &net.node[i], &net.arc[net.arcs + i]);
    return net;
}

/* -- The checks: a flow is cheapest if potentials exist that prove it ------------------------- */

/* Every node's flow must balance its supply, within the capacities; `balance` has a place for each node. */
static void check_flow(const struct network *net, int64_t *balance)
{
    for (int i = 0; i < net->arcs + net->nodes; i++) {
        const struct arc *a = &net->arc[i];
        kernel_expect(a->flow >= 0 && a->flow <= a->capacity, "arc %d carries %lld of %lld", i,
                      (long long)a->flow, (long long)a->capacity);
        kernel_expect(i < net->arcs || a->flow == 0, "node %d still uses the root", i - net->arcs);
        balance[a->tail - net->node] += a->flow;
        balance[a->head - net->node] -= a->flow;
    }
    for (int i = 0; i < net->nodes; i++)
        kernel_expect(balance[i] == net->node[i].supply,
                      "node %d sends %lld more than it gets, not %lld", i, (long long)balance[i],
                      (long long)net->node[i].supply);
}

/* The arcs up must lead to the root and cost what the potentials differ by. */
static void check_tree(const struct network *net)
{
    for (int i = 0; i < net->nodes; i++) {
        const struct node *n = &net->node[i], *p = n->parent;
        const struct arc *a = n->up;
        bool leads_up = a->tail == n && a->head == p, leads_down = a->head == n && a->tail == p;
        kernel_expect(a->state == IN_TREE && (leads_up || leads_down) && n->depth == p->depth + 1,
                      "node %d is not connected to its parent", i);
        kernel_expect(n->potential - p->potential == (leads_up ? a->cost : -a->cost),
                      "the potential of node %d is not its parent's and the arc's", i);
    }
}

/* An arc that could make the flow cheaper must not exist. */
static void check_prices(const struct network *net)
{
    for (int i = 0; i < net->arcs; i++) {
        const struct arc *a = &net->arc[i];
        int64_t rest = a->cost - a->tail->potential + a->head->potential;
        kernel_expect((rest <= 0 || a->flow == 0) && (rest >= 0 || a->flow == a->capacity),
                      "arc %d carries %lld of %lld at reduced cost %lld", i, (long long)a->flow,
                      (long long)a->capacity, (long long)rest);
    }
}

static int64_t total_cost(const struct network *net)
{
    int64_t sum = 0;
    for (int i = 0; i < net->arcs; i++)
        sum += net->arc[i].cost * net->arc[i].flow;
    return sum;
}

int main(int argc, char **argv)
{
    struct network net = make_network(&shapes[kernel_begin("chase", argc, argv)]);
    for (struct arc *a; (a = price(&net)); net.pivots++) {
        kernel_expect(net.pivots < PATIENCE * net.nodes, "goes in circles");
        pivot(a);
    }
    check_flow(&net, kernel_alloc(net.nodes + 1, sizeof(int64_t)));
    check_tree(&net);
    check_prices(&net);
    return kernel_verified("nodes=%d arcs=%d pivots=%lld cost=%lld", net.nodes, net.arcs,
                           (long long)net.pivots, (long long)total_cost(&net));
}
