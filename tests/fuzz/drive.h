/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * drive.h - main() of a fuzz target where libFuzzer brings none: the files that
 * are named and, for each, --mutations N seeded changes of it.
 */
#ifndef PLAYHEAD_FUZZ_DRIVE_H
#define PLAYHEAD_FUZZ_DRIVE_H

#ifndef FUZZER
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer's entry point; every target defines it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drive_mutate(uint8_t *data, size_t size)
{
	for (int i = random() % 4; i >= 0; i--)
		data[random() % size] = random() % 3 ? random() : 0xff;
}

static int drive_file(const char *path, long mutations)
{
	static uint8_t data[1 << 20], copy[1 << 20];
	FILE *f = fopen(path, "r");
	size_t size;

	if (!f) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	for (long i = 0; i < mutations && size; i++) {
		memcpy(copy, data, size);
		drive_mutate(copy, size);
		LLVMFuzzerTestOneInput(copy, random() % 8 ? size : random() % size);
	}
	return 0;
}

int main(int argc, char **argv)
{
	long mutations = 0;
	int bad = 0;

	srandom(1);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--mutations") && i + 1 < argc)
			mutations = atol(argv[++i]);
		else
			bad |= drive_file(argv[i], mutations);
	}
	return bad;
}
#endif

#endif
