# SPDX-License-Identifier: MIT
"""Write a large, varied, already preprocessed C file: structs, loops, switches, recursion, calls. usage: make_c.py N"""
import random
import sys

OPS = ["+", "-", "*", "&", "|", "^"]
TESTS = ["<", ">", "==", "!=", "<=", ">="]
TYPES = ["char", "short", "int", "long", "unsigned", "unsigned long", "double"]


def expression(rng, names, depth):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(names) if rng.random() < 0.7 else str(rng.randrange(1, 1000))
    left, right = expression(rng, names, depth - 1), expression(rng, names, depth - 1)
    if rng.random() < 0.15:
        return f"({left} {rng.choice(TESTS)} {right} ? {left} : {right})"
    if rng.random() < 0.1:
        return f"({left} / ({right} | 1))"
    return f"({left} {rng.choice(OPS)} {right})"


def struct(rng, i):
    fields = "".join(f"    {rng.choice(TYPES)} f{k};\n" for k in range(rng.randrange(3, 9)))
    return f"struct s{i} {{\n{fields}    int key, n;\n    int data[{rng.randrange(4, 40)}];\n    struct s{i} *next;\n}};\n"


def statement(rng, i, names, depth):
    kind = rng.randrange(8) if depth else rng.randrange(2)
    body = "\n".join(statement(rng, i, names, depth - 1) for _ in range(rng.randrange(1, 4))) if kind > 1 else ""
    value = expression(rng, names, 2)
    target = rng.choice(["a", "b", "sum"])
    if kind == 0:
        return f"{target} {rng.choice(OPS)}= {value};"
    if kind == 1:
        return f"if (p) p->data[{value} & 3] += {target};"
    if kind == 2:
        return f"for (int i{depth} = 0; i{depth} < n; i{depth}++) {{ sum += v[i{depth}]; {body} }}"
    if kind == 3:
        return f"if ({value} > {rng.randrange(99)}) {{ {body} }} else {{ {target} = {value}; }}"
    if kind == 4:
        cases = "\n".join(f"case {k}: {target} += {expression(rng, names, 2)}; break;" for k in range(rng.randrange(3, 12)))
        return f"switch ({value} & 15) {{ {cases}\ndefault: {body} }}"
    if kind == 5:
        return f"for (struct s{i % 16} *q = p; q; q = q->next) {{ {target} += q->key * q->n; {body} }}"
    if kind == 6:
        return f"while (a > {rng.randrange(1, 50)}) {{ a = a / 2 - 1; {body} }}"
    return f"{target} += x{rng.randrange(40)} * 2 + ext((double)({value}), \"{rng.choice(names)} %d\"); {body}"


def function(rng, i):
    names = ["a", "b", "n", "sum", "v[a & 7]"]
    body = "\n    ".join(statement(rng, i, names, 2) for _ in range(rng.randrange(1, 4)))
    call = f"f{rng.randrange(i)}(n - 1, a, v, 0)" if i else "0"
    return (f"{rng.choice(['', '', 'static '])}int f{i}(int n, int a, int *v, struct s{i % 16} *p)\n{{\n"
            f"    int b = a ^ n, sum = {i};\n    if (n < 1) return a;\n    {body}\n    return sum + b + {call};\n}}\n")


def main():
    rng = random.Random(20)
    n = int(sys.argv[1])
    out = [struct(rng, i) for i in range(16)]
    out += [f"static int x{i} = {i * 7};\n" for i in range(40)]
    out.append("extern int ext(double, const char *);\n")
    out += [function(rng, i) for i in range(n)]
    print("# 1 \"made.c\"", *out, sep="\n")


main()
