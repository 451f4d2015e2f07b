// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// What the environment asks for, read once.
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct conf conf;

static const char *text(const char *name, const char *otherwise) {
	const char *v = getenv(name);
	return v && *v ? v : otherwise;
}

static u64 number(const char *name, u64 otherwise) {
	const char *v = getenv(name);
	char *end;
	if (!v || !*v)
		return otherwise;
	u64 n = strtoull(v, &end, 0);
	if (*end) {
		fprintf(stderr, "cudasim: %s=%s is not a number\n", name, v);
		return otherwise;
	}
	return n;
}

static bool profile(const char *p) {
	if (!strcmp(p, "discrete"))
		return true;
	if (!strcmp(p, "jetson")) {
		conf.integrated = true;
		conf.legacy_code = INVALID_VALUE;
	} else if (!strcmp(p, "no-ipc")) {
		conf.posix_fd = false;
		conf.export_code = NOT_SUPPORTED;
		conf.legacy_code = NOT_SUPPORTED;
	} else if (!strcmp(p, "no-vmm")) {
		conf.vmm = conf.posix_fd = false;
	} else if (!strcmp(p, "wsl")) { // says yes, and does not
		conf.export_code = NOT_SUPPORTED;
		conf.legacy_code = INVALID_HANDLE;
	} else if (!strcmp(p, "pidns")) {
		conf.import_code = INVALID_CONTEXT;
		conf.legacy_code = INVALID_CONTEXT;
	} else if (!strcmp(p, "no-driver")) {
		conf.init_code = NO_DEVICE;
	} else if (!strcmp(p, "mismatch")) {
		conf.init_code = SYSTEM_DRIVER_MISMATCH;
	} else if (!strcmp(p, "stub")) {
		conf.init_code = STUB_LIBRARY;
	} else if (!strcmp(p, "not-ready")) {
		conf.init_code = 802;
	} else if (!strcmp(p, "old-driver")) {
		conf.version = 10010;
		conf.vmm = conf.posix_fd = false;
	} else if (!strcmp(p, "exclusive")) {
		conf.exclusive = true;
	} else if (!strcmp(p, "event-hang")) {
		conf.event_hang = true;
	} else if (!strcmp(p, "two-gpus")) {
		conf.physical = 2;
	} else {
		return false;
	}
	return true;
}

// visible follows CUDA_VISIBLE_DEVICES: the list ends at the first entry that
// is no device, and an empty list hides all.
static void visible(void) {
	const char *list = getenv("CUDASIM_DEVICES");
	if (!list)
		list = getenv("CUDA_VISIBLE_DEVICES");
	if (!list) {
		for (int i = 0; i < conf.physical; i++)
			conf.visible[conf.devices++] = i;
		return;
	}
	while (*list && conf.devices < MAX_DEVICES) {
		char *end;
		long gpu;
		if (!strncmp(list, "GPU-", 4)) { // GPU-43554441-5349-4d00-8000-00000000000N
			size_t n = strcspn(list, ",");
			gpu = n == 40 ? list[39] - '0' : -1;
			end = (char *)list + n;
		} else {
			gpu = strtol(list, &end, 10);
		}
		if (end == list || gpu < 0 || gpu >= conf.physical)
			return;
		for (int i = 0; i < conf.devices; i++)
			if (conf.visible[i] == gpu) {
				conf.devices = 0;
				return;
			}
		conf.visible[conf.devices++] = (int)gpu;
		list = *end == ',' ? end + 1 : end;
	}
}

void conf_load(void) {
	conf.version = 13000;
	conf.vmm = conf.posix_fd = conf.host_register = conf.read_only_register = true;
	conf.physical = 1;
	const char *p = text("CUDASIM_PROFILE", "discrete");
	if (!profile(p))
		fprintf(stderr, "cudasim: no profile %s\n", p);

	const char *dir = text("CUDASIM_DIR", NULL);
	if (dir)
		snprintf(conf.dir, sizeof conf.dir, "%s", dir);
	else
		snprintf(conf.dir, sizeof conf.dir, "%s/cudasim-%u", text("TMPDIR", "/tmp"), (unsigned)getuid());
	conf.seed = number("CUDASIM_SEED", 1);
	const char *d = text("CUDASIM_DELAY", "none");
	if (!strcmp(d, "uniform"))
		conf.delay = DELAY_UNIFORM;
	else if (!strcmp(d, "heavy"))
		conf.delay = DELAY_HEAVY;
	else if (!strcmp(d, "hold"))
		conf.delay = DELAY_HOLD;
	else if (strcmp(d, "none"))
		fprintf(stderr, "cudasim: no delay model %s\n", d);
	conf.delay_us = (u32)number("CUDASIM_DELAY_US", 5000);
	conf.version = (int)number("CUDASIM_VERSION", (u64)conf.version);
	if (getenv("CUDASIM_VMM"))
		conf.vmm = conf.posix_fd = number("CUDASIM_VMM", 1) != 0;
	conf.host_register = number("CUDASIM_HOST_REGISTER", conf.host_register) != 0;
	conf.read_only_register = number("CUDASIM_READ_ONLY_REGISTER", conf.read_only_register) != 0;
	conf.physical = (int)number("CUDASIM_GPUS", (u64)conf.physical);
	if (conf.physical < 0 || conf.physical > MAX_DEVICES)
		conf.physical = MAX_DEVICES;
	conf.total = number("CUDASIM_MEMORY", 8ull << 30);
	conf.max_events = (u32)number("CUDASIM_MAX_EVENTS", MAX_EVENTS);
	if (conf.max_events > MAX_EVENTS)
		conf.max_events = MAX_EVENTS;
	conf.max_streams = (u32)number("CUDASIM_MAX_STREAMS", MAX_STREAMS);
	if (conf.max_streams > MAX_STREAMS)
		conf.max_streams = MAX_STREAMS;
	conf.pageable = number("CUDASIM_PAGEABLE", 0) != 0;
	conf.cost = number("CUDASIM_COST", conf.delay != DELAY_NONE) != 0;
	conf.echo = number("CUDASIM_ECHO", 0) != 0;
	visible();
	fault_load(text("CUDASIM_FAIL", ""));
}
