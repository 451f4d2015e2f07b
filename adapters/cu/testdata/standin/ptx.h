// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// The small part of PTX that the kernels of the tests are written in.
#ifndef STANDIN_PTX_H
#define STANDIN_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_CODE = 128, MAX_REGISTERS = 64, MAX_PARAMS = 16, NAME = 64 };

struct instruction {
	int op, guard, operand[4]; // registers; guard -1: always
	bool unless;               // the guard is to be false
	char label[NAME];          // of a branch
};

struct kernel {
	char name[NAME];
	int params, length, registers;
	char param[MAX_PARAMS][NAME], reg[MAX_REGISTERS][NAME];
	struct instruction code[MAX_CODE];
	int labels, at[MAX_CODE];
	char label[MAX_CODE][NAME];
};

// range is memory of the GPU, and its bytes where this process can get at them;
// NULL: only which addresses are touched is asked.
struct range {
	uint64_t from, to, touches;
	uint8_t *bytes;
};

struct launch {
	unsigned grid[3], block[3];
	uint64_t param[MAX_PARAMS];
	struct range read, write;
};

// ptx_parse reads the one kernel of a module; NULL, or what it cannot read.
const char *ptx_parse(struct kernel *k, const char *text);

// ptx_run runs all threads of a launch, one after the other; false for one that
// does not end, or leaves its ranges.
bool ptx_run(const struct kernel *k, struct launch *l);

#endif
