/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work with few system calls: what samples are made for. */
#include "target.h"

struct node {
	struct node *left, *right;
	uint64_t key;
};

static struct node nodes[20000];
static int used;

static void insert(struct node **at, uint64_t key)
{
	while (*at)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	*at = &nodes[used++];
	(*at)->key = key;
}

static uint64_t sum(const struct node *n, int depth)
{
	return n ? n->key * depth + sum(n->left, depth + 1) + sum(n->right, depth + 1) : 0;
}

int main(void)
{
	struct node *root = NULL;
	uint64_t key = 1, total = 0;

	for (int i = 0; i < 20000; i++) {
		key = target_work(key, 3);
		insert(&root, key);
	}
	for (int i = 0; i < 100; i++)
		total += sum(root, i);
	printf("sum %llx\n", (unsigned long long)total);
	return 0;
}
