/* SPDX-License-Identifier: MIT */
/* EP: gaussian pairs by the polar method from the NAS generator, counted by square annuli.
 *
 * The pairs come in batches whose place in the random sequence is found by skipping, so each could
 * be made on another processor. Nearly all memory references are to one small buffer. */
#include "kernel.h"

enum { BATCH = 1 << 16, RINGS = 10 };
#define EP_SEED UINT64_C(271828183)

struct tally {
    double sx, sy;       /* sums of the two coordinates */
    int64_t ring[RINGS]; /* pairs with l <= max(|x|, |y|) < l + 1 */
};

static const int log2_pairs[] = {22, 25, 28};

/* What NAS published for so many pairs of the same sequence (its classes S, W and A). */
static const struct published {
    int log2_pairs;
    double sx, sy;
} published[] = {
    {24, -3.247834652034740e3, -6.958407078382297e3},
    {25, -2.863319731645753e3, -6.320053679109499e3},
    {28, -4.295875165629892e3, -1.580732573678431e4},
};

static void add_batch(int64_t number, struct tally *t)
{
    static double r[2 * BATCH];
    uint64_t x = nas_skip(EP_SEED, (uint64_t)(2 * BATCH * number));
    for (int i = 0; i < 2 * BATCH; i++)
        r[i] = 2 * nas_next(&x) - 1;
    for (int i = 0; i < BATCH; i++) {
        double a = r[2 * i], b = r[2 * i + 1], s = a * a + b * b;
        if (s > 1)
            continue;
        double scale = sqrt(-2 * log(s) / s), gx = a * scale, gy = b * scale;
        t->ring[(int)fmax(fabs(gx), fabs(gy))]++;
        t->sx += gx;
        t->sy += gy;
    }
}

/* Make one batch the plain way: one number after the other from the seed, angle and radius, wider arithmetic. */
static void add_batch_plainly(int64_t number, struct tally *t)
{
    unsigned __int128 x = EP_SEED;
    for (int64_t i = 0; i < 2 * BATCH * number; i++)
        x = x * NAS_FACTOR % (NAS_MASK + 1);
    for (int i = 0; i < BATCH; i++) {
        x = x * NAS_FACTOR % (NAS_MASK + 1);
        long double a = 2 * ((long double)x / (NAS_MASK + 1)) - 1;
        x = x * NAS_FACTOR % (NAS_MASK + 1);
        long double b = 2 * ((long double)x / (NAS_MASK + 1)) - 1;
        long double distance = hypotl(a, b), angle = atan2l(b, a);
        if (distance > 1)
            continue;
        long double radius = sqrtl(-4 * logl(distance));
        long double gx = radius * cosl(angle), gy = radius * sinl(angle);
        for (int ring = 0; ring < RINGS; ring++)
            t->ring[ring] += fabsl(gx) < ring + 1 && fabsl(gy) < ring + 1 &&
                             (fabsl(gx) >= ring || fabsl(gy) >= ring);
        t->sx += (double)gx;
        t->sy += (double)gy;
    }
}

static void check_one_batch(int64_t number)
{
    struct tally fast = {0}, plain = {0};
    add_batch(number, &fast);
    add_batch_plainly(number, &plain);
    kernel_expect(is_near(fast.sx, plain.sx, 1e-9) && is_near(fast.sy, plain.sy, 1e-9),
                  "the sums of batch %d are %.9g %.9g, computed plainly %.9g %.9g", (int)number,
                  fast.sx, fast.sy, plain.sx, plain.sy);
    kernel_expect(memcmp(fast.ring, plain.ring, sizeof fast.ring) == 0,
                  "the counts of batch %d differ from those computed plainly", (int)number);
}

static void check_published(int64_t pairs, const struct tally *t)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const struct published *p = &published[i];
        kernel_expect(pairs != INT64_C(1) << p->log2_pairs ||
                          (is_near(t->sx, p->sx, 1e-8) && is_near(t->sy, p->sy, 1e-8)),
                      "after %lld pairs the sums are %.12g %.12g, published %.12g %.12g",
                      (long long)pairs, t->sx, t->sy, p->sx, p->sy);
    }
}

/* A count among n with this probability must be within five standard deviations (and one) of what to expect. */
static void check_count(const char *what, int64_t count, int64_t n, double probability)
{
    double mean = (double)n * probability, deviation = sqrt(mean * (1 - probability));
    kernel_expect(fabs((double)count - mean) <= 5 * deviation + 1, "%lld %s, expected about %.0f",
                  (long long)count, what, mean);
}

static void check_distribution(int64_t pairs, int64_t accepted, const struct tally *t)
{
    double bound = 5 * sqrt((double)accepted);
    check_count("pairs in the circle", accepted, pairs, M_PI / 4);
    for (int l = 0; l < RINGS; l++) {
        double inner = erf(l / M_SQRT2), outer = erf((l + 1) / M_SQRT2);
        check_count("pairs in a ring", t->ring[l], accepted, outer * outer - inner * inner);
    }
    kernel_expect(fabs(t->sx) <= bound && fabs(t->sy) <= bound, "the mean is not zero");
}

int main(int argc, char **argv)
{
    int64_t pairs = INT64_C(1) << log2_pairs[kernel_begin("ep", argc, argv)];
    int64_t accepted = 0;
    struct tally t = {0};
    for (int64_t done = 0; done < pairs; done += BATCH) {
        add_batch(done / BATCH, &t);
        check_published(done + BATCH, &t);
    }
    for (int l = 0; l < RINGS; l++)
        accepted += t.ring[l];
    check_distribution(pairs, accepted, &t);
    check_one_batch(5);
    return kernel_verified("pairs=%lld accepted=%lld sx=%.9g sy=%.9g", (long long)pairs,
                           (long long)accepted, t.sx, t.sy);
}
