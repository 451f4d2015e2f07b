// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Failures by plan. A plan is a list of words with commas between them:
//
//	NAME:K:CODE   the Kth call of the function NAME from now on returns CODE,
//	              and does nothing; K is 0 for every call, and K+ for the Kth
//	              and all after it; with a CODE below 0 the call first takes
//	              that many seconds, or until another plan comes
//	op:K:CODE     the Kth operation given to a stream breaks with CODE, which a
//	              later call reports; the GPU is lost then
//	lost:CODE     the GPU is lost at once
//	hang          operations given to streams from now on never finish
//	oom           all memory is taken
//	pid:N         what stands before it is for process N only
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FAULTS = 32 };

static struct fault {
	char name[48];
	u64 at, seen;
	bool onwards;
	CUresult code;
} faults[MAX_FAULTS];

static int nfaults;
static _Atomic(u32) plans; // that there were
static bool hang, out_of_memory;
static _Atomic(bool) any;
static pthread_mutex_t faults_lock = PTHREAD_MUTEX_INITIALIZER;

static void word(char *w) {
	char *k = strchr(w, ':');
	if (!strcmp(w, "hang")) {
		hang = true;
		return;
	}
	if (!strcmp(w, "oom")) {
		out_of_memory = true;
		return;
	}
	if (!k) {
		fprintf(stderr, "cudasim: no fault %s\n", w);
		return;
	}
	*k++ = 0;
	char *code = strchr(k, ':');
	if (!strcmp(w, "lost")) {
		lose(atoi(k));
		return;
	}
	if (!code || nfaults == MAX_FAULTS) {
		fprintf(stderr, "cudasim: fault %s:%s is not NAME:K:CODE, or one too many\n", w, k);
		return;
	}
	*code++ = 0;
	struct fault *f = &faults[nfaults++];
	memset(f, 0, sizeof *f);
	snprintf(f->name, sizeof f->name, "%s", w);
	f->at = strtoull(k, NULL, 10);
	f->onwards = f->at == 0 || strchr(k, '+');
	f->code = atoi(code);
}

// fault_load puts a plan in the place of the one before.
void fault_load(const char *plan) {
	char copy[4096];
	snprintf(copy, sizeof copy, "%s", plan);
	pthread_mutex_lock(&faults_lock);
	nfaults = 0;
	hang = out_of_memory = false;
	char *mine = strstr(copy, "pid:");
	if (!mine || atoi(mine + 4) == getpid()) {
		char *save = NULL;
		for (char *w = strtok_r(copy, ", \n", &save); w; w = strtok_r(NULL, ", \n", &save))
			if (strncmp(w, "pid:", 4))
				word(w);
	}
	atomic_store(&any, nfaults || hang || out_of_memory);
	atomic_fetch_add(&plans, 1);
	pthread_mutex_unlock(&faults_lock);
}

// linger has a call take its time. It holds no lock.
static void linger(int seconds) {
	u32 plan = atomic_load(&plans);
	for (int ms = 0; ms < seconds * 1000 && atomic_load(&plans) == plan; ms += 10) {
		usleep(10000);
		plan_at_run_time();
	}
}

CUresult fault_at_call(const char *name) {
	if (!atomic_load_explicit(&any, memory_order_relaxed))
		return OK;
	CUresult code = OK;
	pthread_mutex_lock(&faults_lock);
	for (int i = 0; i < nfaults && !code; i++) {
		struct fault *f = &faults[i];
		if (strcmp(f->name, name))
			continue;
		f->seen++;
		if (f->seen == f->at || (f->onwards && f->seen >= f->at))
			code = f->code;
	}
	pthread_mutex_unlock(&faults_lock);
	if ((int)code < 0) {
		linger(-(int)code);
		return OK;
	}
	return code;
}

CUresult fault_at_operation(void) { return fault_at_call("op"); }

bool fault_hang(void) {
	pthread_mutex_lock(&faults_lock);
	bool h = hang;
	pthread_mutex_unlock(&faults_lock);
	return h;
}

bool fault_out_of_memory(void) {
	pthread_mutex_lock(&faults_lock);
	bool o = out_of_memory;
	pthread_mutex_unlock(&faults_lock);
	return o;
}
