# SPDX-License-Identifier: MIT
"""What the suites of caches share: gait's counts beside those of the model, for hierarchies of all kinds.

    use("cache")                 before this is imported: its files go where the suite's do
    from compare import ...
"""
import itertools
import subprocess
from collections import Counter
from functools import lru_cache
from pathlib import Path

from cases import GAIT, analysis, build, events_of, record, require, work
from model import Model

HERE = Path(__file__).resolve().parent
WORK = work()
JOBS = (1, 2, 3, 4, 8)
SOME_JOBS = itertools.cycle(((1, 2, 16), (1, 4, 3)))
# I1, D1, LL: size, ways, line.
SHAPES = [
    ((32768, 8, 64), (32768, 8, 64), (262144, 16, 64)),
    ((1024, 1, 32), (2048, 1, 64), (16384, 4, 128)),
    ((3 * 2 * 64, 2, 64), (5 * 3 * 32, 3, 32), (7 * 8 * 64, 8, 64)),
    ((512, 8, 64), (512, 8, 64), (1024, 16, 64)),
    ((4096, 8, 32), (8192, 8, 128), (12 * 32 * 64, 12, 32)),
    ((49152, 12, 64), (16384, 4, 16), (196608, 3, 64)),
    ((16384, 4, 256), (16384, 4, 256), (65536, 8, 512)),
    ((16384, 4, 64), (16384, 4, 512), (65536, 8, 1024)),
]
# Few sets of many ways: much is there, and in the same sets; lines that are shorter than references.
MANY_WAYS = [
    ((512, 8, 64), (1024, 8, 64), (4096, 16, 64)),
    ((2048, 8, 16), (2048, 8, 32), (8192, 8, 64)),
    ((8192, 16, 64), (4096, 16, 64), (5 * 8 * 64, 8, 64)),
    ((3 * 8 * 64, 8, 64), (5 * 9 * 16, 9, 16), (65536, 8, 64)),
    ((4096, 8, 64), (4096, 8, 64), (16384, 8, 64)),
]
L1 = "L1I size=1K ways=2\nL1D size=2K ways=4 {}\n"


# -- gait and the model -------------------------------------------------------------------------------------------------

def options_of(shape):
    return [f"--{name}={size},{ways},{line}" for name, (size, ways, line) in zip(("I1", "D1", "LL"), shape)]


def text_of(shape):
    """The same as a description."""
    return "\n".join(f"{name} size={size} ways={ways} line={line} write=ignore" for name, (size, ways, line) in zip(("L1I", "L1D", "L2"), shape))


def cache(*args):
    return analysis("cache", "--by", "instruction", *args)


@lru_cache(maxsize=None)
def events(trace):
    found = list(events_of(trace))
    require(len(found) > 1000, "hardly any events")
    return found


def compare(result, model, where):
    """All that is counted. Instructions are compared as a bag: where they are is told by module and offset."""
    names = [name for name in result["rows"][0] if name not in ("MPKI", "offset", "function", "module")]
    for name in names:
        ours, plain = result["total"][name], sum(n[name] for n in model.counts.values())
        require(ours == plain, f"{where}: {name} is {ours} in all, plainly {plain}")
    ours = Counter(tuple(row[name] for name in names) for row in result["rows"])
    plain = Counter(tuple(n[name] for name in names) for n in model.counts.values())
    require(ours == plain, f"{where}: of single instructions {list((ours - plain).items())[:3]}, plainly {list((plain - ours).items())[:3]}")
    for row in result["caches"]:
        for name, plain in model.stats[row["level"]].items():
            require(row[name] == plain, f"{where}: {name} of {row['level']} is {row[name]}, plainly {plain}")
    for name in ("upgrades", "interventions") if model.private else ():
        require(result["total"][name] == getattr(model, name), f"{where}: {name} {result['total'][name]}, plainly {getattr(model, name)}")
    if model.sharing:
        compare_sharing(result["sharing"], model, where)


def compare_sharing(rows, model, where):
    length = model.paths["D"][0]["line"]
    ours = sorted((r["address"], r["invalidations"], r["misses"], r["false_misses"], r["cores"]) for r in rows)
    plain = sorted((tag * length, n[0], n[1], n[2], len(n[3])) for tag, n in model.lines.items())
    require(ours == plain, f"{where}: shared lines {ours[:4]}, plainly {plain[:4]}")
    for r in rows:
        kind = "none" if not r["misses"] else {0: "true", r["misses"]: "false"}.get(r["false_misses"], "both")
        require(r["sharing"] == kind, f"{where}: {r} is called {r['sharing']}, not {kind}")


# -- Runs -----------------------------------------------------------------------------------------------------------------

def by_any_number(where, *args):
    """The result, which several numbers of threads agree on; which ones, changes from call to call."""
    numbers = next(SOME_JOBS)
    results = [cache("-j", str(jobs), *args) for jobs in numbers]
    for jobs, result in zip(numbers, results):
        require(result == results[0], f"{where}: -j {jobs} counts {result['total']}, -j {numbers[0]} {results[0]['total']}")
    return results[0]


def compare_text(trace, text, sharing=False, why=None):
    """A described hierarchy; gait's account and the model's. why: the cache that is asked why."""
    path = WORK / "caches.txt"
    path.write_text(text)
    where = f"{trace.name}, {text.strip()!r}" + (f", why {why}" if why else "")
    result = by_any_number(where, "--config", path, *(["--sharing"] if sharing else []), *(["--why", "--level", why] if why else []), trace)
    model = Model(text, sharing, why).run(events(trace))
    compare(result, model, where)
    return result, model


def compare_shapes(trace, shapes=SHAPES):
    """cachegrind's options."""
    for shape in shapes:
        where = f"{trace.name} {shape}"
        result = by_any_number(where, *options_of(shape), trace)
        for row, name in zip(result["caches"], ("L1I", "L1D", "L2")):
            row["level"] = name
        compare(result, Model(text_of(shape)).run(events(trace)), where)


def walk(threads=0, knobs="hot,tinybuf"):
    return walk_trace(threads, knobs)


def walk_program(threads):
    options = ["-O1", "-nostdlib", "-static", "-fno-stack-protector", f"-DTHREADS={threads}", f"-DROUNDS={4 if threads else 50}"]
    return build(f"walk{threads}", HERE / "walk.c", *options)


@lru_cache(maxsize=None)
def walk_trace(threads, knobs):
    return record(f"walk{threads}{knobs.replace(',', '')}", walk_program(threads), GAIT_STRESS=knobs)


# -- Descriptions -------------------------------------------------------------------------------------------------------

def describe_any(pick):
    """Any hierarchy that can be, as far as the rules of the man page say."""
    levels, split = pick.randint(1, 4), pick.randint(0, 3)
    private = pick.choice((0, 0, 1, 2)) if levels > 1 else 0
    plain = not private and pick.random() < 0.3
    line, text, above = pick.choice((16, 32, 64, 64, 128)), f"cores {pick.randint(1, 5)}\n", None
    for level in range(1, levels + 1):
        here = []
        for side in ("I", "D") if level <= split else ("",):
            policy = pick.choice(("lru", "lru", "plru", "fifo", "random", "rrip"))
            ways = pick.choice((1, 2, 4, 8, 8)) if policy == "plru" else pick.choice((1, 2, 3, 4, 5, 8, 8, 16))
            sets = pick.choice((1, 2, 4, 8, 8, 16, 3, 6, 12)) * level
            length = pick.choice((16, 32, 64, 128)) if plain else line
            words = [f"L{level}{side}", f"size={length * ways * sets}", f"ways={ways}", f"line={length}", f"policy={policy}"]
            words.append("private" if level <= private else "shared")
            write, allocate, inclusion, prefetch = ("ignore" if plain else pick.choice(("back", "back", "through"))), "yes", "neither", "none"
            if not plain:
                inclusion = pick.choice(("neither", "neither", "inclusive", "exclusive")) if level > 1 else "neither"
                if inclusion == "exclusive" and any(a != ("back", "yes") for a in above):
                    inclusion = "neither"
                if inclusion == "exclusive":
                    write = "back"
                else:
                    prefetch = pick.choice(("none", "none", "none", "next", "stride"))
                    prefetch = "next" if prefetch == "stride" and side == "I" else prefetch
                if inclusion == "neither":
                    allocate = pick.choice(("yes", "yes", "no"))
            here.append((write, allocate))
            words += [f"write={write}", f"allocate={allocate}", inclusion, f"prefetch={prefetch}"]
            text += " ".join(words) + "\n"
        above = here
    return text, private


def refused(options, word):
    run = subprocess.run([GAIT, "cache", *options, "x.gait"], capture_output=True, text=True)
    require(run.returncode == 2 and word in run.stderr, f"{options}: status {run.returncode}, {run.stderr}")
