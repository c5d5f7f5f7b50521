/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies by abort(). */
#include "target.h"

int main(void)
{
	fputs("about to abort\n", stderr);
	abort();
}
