// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Time and chance.
#include "sim.h"

#include <errno.h>
#include <time.h>

u64 now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

void pause_us(u64 us) {
	if (!us)
		return;
	struct timespec t;
	deadline(&t, us);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void cost_us(u64 us) {
	if (conf.cost)
		pause_us(us);
}

void deadline(struct timespec *t, u64 us) {
	clock_gettime(CLOCK_MONOTONIC, t);
	t->tv_sec += (time_t)(us / 1000000);
	t->tv_nsec += (long)(us % 1000000) * 1000;
	if (t->tv_nsec >= 1000000000) {
		t->tv_sec++;
		t->tv_nsec -= 1000000000;
	}
}

// chance is splitmix64: good bits from any seed.
u64 chance(u64 *state) {
	u64 z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}
