# SPDX-License-Identifier: GPL-3.0-or-later
"""What the programs of the matrix read: made, not kept, the same every time."""
import os
import random
import subprocess

WORDS = ("the of and to in a is that for it as was with be by on not he his but at are this have "
         "from or had an they which one you were her all she there would their we him been has when "
         "who will more no if out so said what up its about into than them can only other new some "
         "could time these two may then do first any my now such like our over man me even most made "
         "after also did many before must through back years where much your way well down should "
         "because each just those people how too little state good very make world still own see men "
         "work long get here between both life being under never day same another know while last").split()

MIXED_PY = """\
import random, subprocess, sys, threading, time

rounds = int(sys.argv[1])
print(time.time(), random.random(), time.perf_counter())
counts, lock = {}, threading.Lock()

def count(seed):
    r = random.Random(seed)
    mine = {}
    for i in range(30000 * rounds):
        k = r.randrange(5000)
        mine[k] = mine.get(k, 0) + i % 7
    with lock:
        for k, v in mine.items():
            counts[k] = counts.get(k, 0) + v

threads = [threading.Thread(target=count, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sum(counts.values()), len(counts))
out = subprocess.run(["sh", "-c", "echo $$ from a child"], stdout=subprocess.PIPE)
print(out.stdout.decode().strip(), out.returncode)
time.sleep(0.01)
print(random.SystemRandom().randrange(1 << 60))
"""

LOOP_PL = """\
use strict;
sub add { my ($x, $y) = @_; return ($x * 31 + $y) % 1000003; }
my ($n, $sum) = ($ARGV[0], 0);
$sum = add($sum, $_) for 1 .. $n;
print "$sum\\n";
"""

LOOP_LUA = """\
local function add(x, y) return (x * 31 + y) % 1000003 end
local sum = 0
for i = 1, tonumber(arg[1]) do sum = add(sum, i) end
print(sum)
"""

CODE_C = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item%(n)d { int key; char name[24]; struct item%(n)d *next; };

static int order%(n)d(const void *a, const void *b)
{
	const struct item%(n)d *x = a, *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : strcmp(x->name, y->name);
}

int work%(n)d(int count)
{
	struct item%(n)d *v = calloc(count, sizeof(*v));
	long sum = 0;

	if (!v)
		return -1;
	for (int i = 0; i < count; i++) {
		v[i].key = (i * 7919 + %(n)d) %% 1009;
		snprintf(v[i].name, sizeof(v[i].name), "n%%d-%%d", i, %(n)d);
	}
	qsort(v, count, sizeof(*v), order%(n)d);
	for (int i = 1; i < count; i++)
		sum += v[i].key * (long)i - v[i - 1].key;
	free(v);
	return (int)(sum %% 1000);
}
"""


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def text(path, size, r):
    with open(path, "w") as f:
        n = 0
        while n < size:
            line = " ".join(r.choices(WORDS, k=12)) + (" %d\n" % r.randrange(10000))
            f.write(line)
            n += len(line)


def repo(top, commits):
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null",
               GIT_AUTHOR_NAME="A", GIT_AUTHOR_EMAIL="a@example.org", GIT_COMMITTER_NAME="A",
               GIT_COMMITTER_EMAIL="a@example.org", GIT_AUTHOR_DATE="1700000000 +0000",
               GIT_COMMITTER_DATE="1700000000 +0000")

    def git(*args):
        subprocess.run(("git", "-C", top) + args, check=True, env=env,
                       stdout=subprocess.DEVNULL)

    os.mkdir(top)
    git("init", "-q", "-b", "main")
    for i in range(commits):
        text(os.path.join(top, "file%d.txt" % (i % 17)), 2000, random.Random(i))
        git("add", "-A")
        git("commit", "-q", "-m", "commit %d" % i)
    write(os.path.join(top, "file1.txt"), "changed\n")
    write(os.path.join(top, "new.txt"), "untracked\n")


def thirty(top):
    """Thirty small C files and their Makefile."""
    os.mkdir(top)
    names = ["f%d" % i for i in range(30)]
    for i, n in enumerate(names):
        write(os.path.join(top, n + ".c"), CODE_C % {"n": i})
    write(os.path.join(top, "Makefile"), "all: %s\n%%.o: %%.c\n\tgcc -O1 -c $< -o $@\n" %
          " ".join(n + ".o" for n in names))


def make(top, full):
    """Everything below the new folder @top."""
    r = random.Random(1)
    os.makedirs(top)
    p = lambda n: os.path.join(top, n)
    text(p("text.txt"), 20 << 20 if full else 300000, r)
    with open(p("lines.txt"), "w") as f:
        for _ in range(1000000 if full else 20000):
            f.write("%d %s\n" % (r.randrange(1 << 30), r.choice(WORDS)))
    rows = 100000 if full else 2000
    write(p("build.sql"), "create table t(id integer primary key, k int, name text);\nbegin;\n" +
          "".join("insert into t values(%d,%d,'%s');\n" % (i, r.randrange(1000), r.choice(WORDS))
                  for i in range(rows)) +
          "commit;\ncreate index tk on t(k);\n"
          "select name, count(*), avg(k) from t group by name order by 2 desc, 1 limit 5;\n"
          "select count(*) from t a join t b on a.k = b.k where a.id % 50 = 0;\n"
          "pragma integrity_check;\n")
    write(p("mixed.py"), MIXED_PY)
    write(p("loop.pl"), LOOP_PL)
    write(p("loop.lua"), LOOP_LUA)
    write(p("code.c"), "".join(CODE_C.replace("#include", "#include", 1) % {"n": i}
                               for i in range(12 if full else 3)))
    repo(p("repo"), 60 if full else 12)
    thirty(p("thirty"))
