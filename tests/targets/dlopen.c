/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects loaded, used and unloaded while the program runs. */
#include <dlfcn.h>
#include "target.h"

int main(void)
{
	double (*cosine)(double);
	void *lib;

	for (int i = 0; i < 5; i++) {
		CHECK((lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL)));
		CHECK((cosine = (double (*)(double))dlsym(lib, "cos")));
		CHECK(cosine(0) == 1.0);
		CHECK(!dlsym(lib, "no_such_name"));
		CHECK(!dlclose(lib));
	}
	CHECK(!dlopen("no-such-library.so", RTLD_LAZY));
	puts("loaded");
	return 0;
}
