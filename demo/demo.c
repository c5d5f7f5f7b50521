/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * demo.c - a program to be profiled: it counts words in a hash table whose
 * hash is weak, so that most of its time goes into looking along collisions.
 *
 * A profile says that find_slot() is hot. It cannot say why: for that, stand
 * at one of its samples, look at `steps`, watch `longest_search` and go back
 * to the word that made it grow.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SLOTS  (1 << 15)
#define WORDS  (SLOTS / 2)
#define ROUNDS 120

struct slot {
	char word[16];
	unsigned int count;
};

struct table {
	struct slot slots[SLOTS];
	unsigned int used;
};

static struct table table;
static unsigned int longest_search; /* the most slots that one word had to pass */
static uint32_t dice = 2463534242u;

static uint32_t roll(void)
{
	dice ^= dice << 13;
	dice ^= dice >> 17;
	dice ^= dice << 5;
	return dice;
}

/* Weak: letters in another order give the same number, and all are small. */
static unsigned int hash(const char *word)
{
	unsigned int h = 0;

	for (; *word; word++)
		h += (unsigned char)*word * 3;
	return h % SLOTS;
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static struct slot *find_slot(struct table *t, const char *word)
{
	unsigned int at = hash(word);
	unsigned int steps = 0;

	while (t->slots[at].count && !same(t->slots[at].word, word)) {
		at = (at + 1) % SLOTS;
		steps++;
	}
	if (steps > longest_search)
		longest_search = steps;
	return &t->slots[at];
}

static void count_word(struct table *t, const char *word)
{
	struct slot *s = find_slot(t, word);

	if (!s->count) {
		strcpy(s->word, word);
		t->used++;
	}
	s->count++;
}

static void make_word(char *word)
{
	unsigned int length = 3 + roll() % 5;

	for (unsigned int i = 0; i < length; i++)
		word[i] = "etaoinsh"[roll() % 8];
	word[length] = '\0';
}

static const struct slot *most_frequent(const struct table *t)
{
	const struct slot *best = t->slots;

	for (unsigned int i = 1; i < SLOTS; i++)
		if (t->slots[i].count > best->count)
			best = &t->slots[i];
	return best;
}

int main(void)
{
	char word[16];

	for (int round = 0; round < ROUNDS && table.used < WORDS; round++)
		for (int i = 0; i < 400; i++) {
			make_word(word);
			count_word(&table, word);
		}
	printf("%u different words, most often '%s'; longest search %u slots\n", table.used,
	       most_frequent(&table)->word, longest_search);
	return 0;
}
