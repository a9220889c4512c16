/* SPDX-License-Identifier: MIT */
/* A static program without a C library: lackey can be asked about all of its code. */

/* Built with -O1 -static -nostdlib -ffreestanding -fno-stack-protector -no-pie. */

enum { N = 500 };

struct node {
    struct node *left, *right;
    int key;
};

static struct node pool[N];
static int n_nodes;
static int values[N];
static char text[64], copy[64];

static struct node *insert(struct node *at, int key)
{
    if (!at) {
        at = &pool[n_nodes++];
        at->key = key;
    } else if (key < at->key) {
        at->left = insert(at->left, key);
    } else {
        at->right = insert(at->right, key);
    }
    return at;
}

static long sum(const struct node *at)
{
    return at ? at->key + sum(at->left) + sum(at->right) : 0;
}

static int ascending(int a, int b)
{
    return a < b;
}

static int descending(int a, int b)
{
    return a > b;
}

/* Insertion sort through a pointer, for indirect calls. */
static void sort(int *a, int n, int (*before)(int, int))
{
    for (int i = 1; i < n; i++) {
        int x = a[i], j = i;

        for (; j > 0 && before(x, a[j - 1]); j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static double average(const int *a, int n)
{
    double total = 0;

    for (int i = 0; i < n; i++)
        total += a[i];
    return total / n;
}

static int put_number(char *at, long number)
{
    char digits[24];
    int n = 0, length = 0;

    do
        digits[n++] = '0' + number % 10;
    while (number /= 10);
    while (n)
        at[length++] = digits[--n];
    at[length++] = '\n';
    return length;
}

/* What compilers emit rarely. */
static long rare(long length)
{
    void *to = copy, *from = text;
    long n = length, old = 1, here;

    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    n = 0;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
    to = copy, n = sizeof copy;
    __asm__ volatile("repne scasb" : "+D"(to), "+c"(n) : "a"('\n') : "memory", "cc");
    __asm__ volatile("lock xaddl %k0, %1" : "+r"(old), "+m"(values[0]) : : "memory");
    __asm__ volatile("lock btsl $3, %0" : "+m"(values[1]) : : "memory");
    __asm__ volatile("sub $128, %%rsp; call 1f; 1: pop %0; add $128, %%rsp"
                     : "=r"(here)
                     :
                     : "memory");
    __sync_fetch_and_add(&values[2], 1);
    __sync_bool_compare_and_swap(&values[3], 1, 2);
    __atomic_store_n(&values[4], 3, __ATOMIC_SEQ_CST);
    return n + old + (here == 0);
}

static long system_call(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

static int work(void)
{
    struct node *root = 0;
    unsigned seed = 1;
    int length;

    for (int i = 0; i < N; i++) {
        seed = seed * 1103515245 + 12345;
        values[i] = seed >> 16 & 1023;
        root = insert(root, values[i]);
    }
    sort(values, N, ascending);
    sort(values, N / 4, descending);
    length = put_number(text, sum(root) + (long)(average(values, N) * 100));
    system_call(1, 1, (long)copy, length);
    return rare(length) < 0;
}

__attribute__((force_align_arg_pointer, noreturn)) void _start(void)
{
    system_call(231, work(), 0, 0);
    __builtin_unreachable();
}
