/* SPDX-License-Identifier: MIT */
/* A program with deadlines: a loop of 1 kHz keeps the beam of an oscillating mirror at its target, against a disturbance.
 *
 *     cc -O2 -g -o mirror mirror.c -lm; ./mirror [SECONDS]
 *
 * The mirror is simulated in real time: it moves on for as long as really passes between two commands, so a controller that is late leaves
 * it to the disturbance. What happens in the first half second is not counted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAPS = 1 << 17 /* a filter that takes a good part of a period */, LENGTH = 64 /* of what matters in it */, MODES = 8 };
#define PERIOD 1e-3
#define STEP   20e-6 /* of the simulation */
#define WARMUP 0.5
#define TARGET 0.01 /* rad */

struct mirror {
    double angle, speed, time;
};

struct controller {
    double history[TAPS], taps[TAPS];
    double mode[MODES][2]; /* resonators that follow known disturbances */
    double sum, last;
    unsigned at;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(double time)
{
    struct timespec t = {(time_t)time, (long)(1e9 * (time - floor(time)))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
        ;
}

/* -- The mirror --------------------------------------------------------------------------------- */

static double disturbance(double time)
{
    return 40.0 * sin(2 * M_PI * 7 * time) + 15.0 * sin(2 * M_PI * 31 * time + 1);
}

/* A spring with little damping, a torque, and what shakes it. */
static void mirror_move(struct mirror *m, double torque, double until)
{
    while (m->time < until) {
        double step = fmin(STEP, until - m->time);
        m->speed += step * (torque + disturbance(m->time) - 900.0 * m->angle - 2.0 * m->speed);
        m->angle += step * m->speed;
        m->time += step;
    }
}

/* -- The controller ----------------------------------------------------------------------------- */

static void controller_init(struct controller *c)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < LENGTH; i++)
        c->taps[i] = exp(-i / 2.0) * (1 - exp(-1 / 2.0));
}

static double smooth(struct controller *c, double x)
{
    double y = 0;
    c->history[c->at++ % TAPS] = x;
    for (unsigned i = 0; i < TAPS; i++)
        y += c->taps[i] * c->history[(c->at - 1 - i) % TAPS];
    return y;
}

static double follow_modes(struct controller *c, double error)
{
    static const double hertz[MODES] = {7, 31, 11, 13, 17, 19, 23, 29};
    double y = 0;
    for (int i = 0; i < MODES; i++) {
        double *s = c->mode[i], w = 2 * M_PI * hertz[i] * PERIOD, a = s[0], b = s[1];
        s[0] = 0.999 * (cos(w) * a - sin(w) * b) + error;
        s[1] = 0.999 * (sin(w) * a + cos(w) * b);
        y += 3.0 * s[0];
    }
    return y;
}

static double controller_torque(struct controller *c, double error)
{
    double x = smooth(c, error), slope = (error - c->last) / PERIOD;
    c->last = error;
    c->sum = fmax(-1, fmin(1, c->sum + x * PERIOD));
    return fmax(-2000, fmin(2000, 20000 * x + 8000 * c->sum + 120 * slope + follow_modes(c, x)));
}

/* -- The loop ----------------------------------------------------------------------------------- */

struct score {
    double sum, largest;
    unsigned n, missed;
};

static void run(double seconds, struct score *s)
{
    double began = now(), next = began, torque = 0;
    struct mirror m = {.time = began};
    static struct controller c;
    controller_init(&c);
    while (next < began + seconds) {
        mirror_move(&m, torque, now());
        double deviation = fabs(m.angle - TARGET);
        torque = controller_torque(&c, TARGET - m.angle);
        next += PERIOD;
        double at = now();
        int counts = at > began + WARMUP;
        s->n += counts;
        s->sum += counts ? deviation : 0;
        s->largest = counts ? fmax(s->largest, deviation) : s->largest;
        if (at > next) {
            s->missed += counts;
            next = began + PERIOD * ceil((at - began) / PERIOD);
        }
        sleep_until(next);
    }
}

int main(int argc, char **argv)
{
    struct score s = {0};
    run(argc > 1 ? atof(argv[1]) : 5.0, &s);
    printf("average %.4f mrad, largest %.4f mrad, missed %u of %u deadlines\n", s.n ? 1e3 * s.sum / s.n : 0.0, 1e3 * s.largest, s.missed, s.n);
    return 0;
}
