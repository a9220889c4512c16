# SPDX-License-Identifier: MIT
"""What Python is used for: strings, dicts, sorting, regular expressions, JSON, objects, numbers. usage: work.py SIZE"""
import collections
import heapq
import json
import re
import sys

SIZE = int(sys.argv[1])
PARTS = "ka lo mi ne tu ra so vi be do fe gu hy ji pa qu".split()


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
        return (self.state >> 8) % n


def words(rng, n):
    for _ in range(n):
        yield "".join(PARTS[rng.below(16)] for _ in range(1 + rng.below(4)))


def count_words(rng):
    text = " ".join(words(rng, SIZE * 40))
    counter = collections.Counter(re.findall(r"\w+", text))
    top = sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:5]
    title = re.sub(r"\b(\w)(\w*)", lambda m: m[1].upper() + m[2], text)
    return top, sum(map(ord, title)) % 1000003


def round_trip(rng):
    rows = [{"id": i, "name": w, "tags": [w[:2], w[-2:]], "price": rng.below(10**6) / 100}
            for i, w in enumerate(words(rng, SIZE * 12))]
    back = [json.loads(json.dumps(row, sort_keys=True)) for row in rows]
    groups = collections.defaultdict(list)
    for row in back:
        groups[row["tags"][0]].append(row["price"])
    return sorted((tag, len(p), round(sum(p), 2)) for tag, p in groups.items())[:5]


class Shape:
    def __init__(self, w, h):
        self.w, self.h = w, h

    @property
    def area(self):
        return self.w * self.h

    def grow(self, k):
        return type(self)(self.w + k, self.h + 1)

    def __lt__(self, other):
        return self.area < other.area


class Triangle(Shape):
    @property
    def area(self):
        return super().area / 2


def objects(rng):
    shapes = [(Triangle if rng.below(2) else Shape)(rng.below(100), rng.below(100)) for _ in range(SIZE * 20)]
    shapes = sorted(s.grow(rng.below(5)) for s in shapes)
    return sum(i * s.area for i, s in enumerate(shapes)) % 1000003


def shortest_paths(rng):
    n = SIZE * 4
    edges = [[(rng.below(n), 1 + rng.below(50)) for _ in range(5)] for _ in range(n)]
    best, queue = {}, [(0, 0)]
    while queue:
        far, node = heapq.heappop(queue)
        if node in best:
            continue
        best[node] = far
        for to, cost in edges[node]:
            if to not in best:
                heapq.heappush(queue, (far + cost, to))
    return len(best), max(best.values())


def bodies():
    pos = [[float(i), float(i * i % 7), float(i % 3)] for i in range(5)]
    vel = [[0.0, 0.0, 0.0] for _ in pos]
    for _ in range(SIZE * 2):
        for i in range(5):
            for j in range(i + 1, 5):
                d = [a - b for a, b in zip(pos[i], pos[j])]
                pull = 0.001 / (sum(x * x for x in d) + 0.1) ** 1.5
                for k in range(3):
                    vel[i][k] -= d[k] * pull
                    vel[j][k] += d[k] * pull
        for p, v in zip(pos, vel):
            for k in range(3):
                p[k] += v[k] * 0.01
    return [round(x, 9) for x in pos[0]]


def main():
    rng = Random(12345)
    for work in (count_words, round_trip, objects, shortest_paths):
        print(work.__name__, work(rng))
    print("bodies", bodies())
    print("digits", 3 ** (SIZE * 60) % 10**12)


main()
