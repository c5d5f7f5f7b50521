/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ends with the status it is told, after atexit handlers. */
#include "target.h"

static void last(void)
{
	puts("at exit");
}

int main(int argc, char **argv)
{
	atexit(last);
	return argc > 1 ? atoi(argv[1]) : 0;
}
