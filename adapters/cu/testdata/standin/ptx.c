// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Reads PTX and runs it thread by thread, as "PTX ISA" defines the instructions.
// What is not in the table below is refused: this shows that a kernel's arithmetic
// and addresses are right, not what a GPU makes of it.
#include "ptx.h"

#include <stdio.h>
#include <string.h>

enum { MOV, MAD32, MAD64, CVT, PARAM, SETP_GE, BRA, RET, CVTA, ADD, LOAD, NOT, STORE, OPS };

static const struct {
	const char *name;
	int operands;
} ops[OPS] = {
	[MOV] = {"mov.u32", 2},
	[MAD32] = {"mad.lo.u32", 4},
	[MAD64] = {"mad.lo.u64", 4},
	[CVT] = {"cvt.u64.u32", 2},
	[PARAM] = {"ld.param.u64", 2},
	[SETP_GE] = {"setp.ge.u64", 3},
	[BRA] = {"bra", 1},
	[RET] = {"ret", 0},
	[CVTA] = {"cvta.to.global.u64", 2},
	[ADD] = {"add.u64", 3},
	[LOAD] = {"ld.global.u8", 2},
	[NOT] = {"not.b16", 2},
	[STORE] = {"st.global.u8", 2},
};

// The first registers are those that say which thread it is.
static const char *const special[] = {"%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%ntid.x", "%ntid.y", "%ntid.z"};
enum { SPECIAL = sizeof special / sizeof *special, MAX_STEPS = 4096, MAX_TEXT = 16 << 10 };

static char why[2 * NAME + 32];

static const char *refuse(const char *what, const char *text) {
	snprintf(why, sizeof why, "%s: %.*s", what, NAME, text);
	return why;
}

static int reg(struct kernel *k, const char *name) {
	for (int i = 0; i < k->registers; i++)
		if (!strcmp(k->reg[i], name))
			return i;
	if (*name != '%' || k->registers == MAX_REGISTERS || strlen(name) >= NAME)
		return -1;
	strcpy(k->reg[k->registers], name);
	return k->registers++;
}

static int param(const struct kernel *k, const char *name) {
	for (int i = 0; i < k->params; i++)
		if (!strcmp(k->param[i], name))
			return i;
	return -1;
}

// statement reads one, without its semicolon.
static const char *statement(struct kernel *k, char *text) {
	char *words = NULL, *word = strtok_r(text, " \t\n", &words), *end;
	while (word && (end = strchr(word, ':')) == word + strlen(word) - 1) {
		*end = 0;
		if (k->labels == MAX_CODE || strlen(word) >= NAME)
			return refuse("too much", word);
		strcpy(k->label[k->labels], word);
		k->at[k->labels++] = k->length;
		word = strtok_r(NULL, " \t\n", &words);
	}
	if (!word || !strcmp(word, ".reg"))
		return NULL;
	if (k->length == MAX_CODE)
		return refuse("too much", word);
	struct instruction *i = &k->code[k->length++];
	*i = (struct instruction){.guard = -1};
	if (*word == '@') {
		i->unless = word[1] == '!';
		if ((i->guard = reg(k, word + 1 + i->unless)) < 0 || !(word = strtok_r(NULL, " \t\n", &words)))
			return refuse("guard", text);
	}
	for (i->op = 0; i->op < OPS && strcmp(ops[i->op].name, word); i->op++)
		;
	if (i->op == OPS)
		return refuse("an instruction that is not simulated", word);
	for (int n = 0; n < ops[i->op].operands; n++) {
		char *name = strtok_r(NULL, " \t\n,[]", &words);
		if (!name)
			return refuse("operands are missing", word);
		if (i->op == BRA)
			snprintf(i->label, sizeof i->label, "%s", name);
		else if ((i->operand[n] = i->op == PARAM && n == 1 ? param(k, name) : reg(k, name)) < 0)
			return refuse("operand", name);
	}
	return strtok_r(NULL, " \t\n", &words) ? refuse("too many operands", word) : NULL;
}

const char *ptx_parse(struct kernel *k, const char *image) {
	static char text[MAX_TEXT];
	size_t n = 0;
	bool comment = false;
	for (; *image && n + 1 < sizeof text; image++) {
		comment = *image != '\n' && (comment || (image[0] == '/' && image[1] == '/'));
		if (!comment)
			text[n++] = *image;
	}
	text[n] = 0;
	memset(k, 0, sizeof *k);
	for (int i = 0; i < SPECIAL; i++)
		reg(k, special[i]);
	char *entry = strstr(text, ".entry "), *list = entry ? strchr(entry, '(') : NULL, *close = list ? strchr(list, ')') : NULL;
	char *body = close ? strchr(close, '{') : NULL, *end = body ? strchr(body, '}') : NULL, *rest = NULL;
	if (!strstr(text, ".version ") || *image || !end || sscanf(entry, ".entry %63[A-Za-z0-9_]", k->name) != 1)
		return refuse("no module with a kernel", text);
	*close = *end = 0;
	for (char *p = strtok_r(list + 1, ",", &rest); p; p = strtok_r(NULL, ",", &rest))
		if (k->params == MAX_PARAMS || sscanf(p, " .param .u64 %63s", k->param[k->params++]) != 1)
			return refuse("parameter", p);
	for (char *s = strtok_r(body + 1, ";", &rest); s; s = strtok_r(NULL, ";", &rest)) {
		const char *bad = statement(k, s);
		if (bad)
			return bad;
	}
	for (int i = 0; i < k->length; i++) {
		struct instruction *b = &k->code[i];
		int to = 0;
		if (b->op != BRA)
			continue;
		while (to < k->labels && strcmp(k->label[to], b->label))
			to++;
		if (to == k->labels)
			return refuse("label", b->label);
		b->operand[0] = k->at[to];
	}
	return NULL;
}

static uint8_t *touch(struct range *r, uint64_t at) {
	r->touches++;
	if (r->bytes)
		return at >= r->from && at < r->to ? r->bytes + (at - r->from) : NULL;
	if (r->from == r->to)
		r->from = at, r->to = at + 1;
	if (at < r->from)
		r->from = at;
	if (at >= r->to)
		r->to = at + 1;
	static uint8_t nowhere;
	nowhere = 0;
	return &nowhere;
}

static bool thread(const struct kernel *k, struct launch *l, uint64_t *r) {
	for (int pc = 0, steps = 0; pc < k->length; steps++) {
		const struct instruction *i = &k->code[pc++];
		const int *o = i->operand;
		uint8_t *byte;
		if (steps == MAX_STEPS)
			return false;
		if (i->guard >= 0 && (r[i->guard] != 0) == i->unless)
			continue;
		switch (i->op) {
		case MOV: case CVT: r[o[0]] = (uint32_t)r[o[1]]; break;
		case MAD32: r[o[0]] = (uint32_t)(r[o[1]] * r[o[2]] + r[o[3]]); break;
		case MAD64: r[o[0]] = r[o[1]] * r[o[2]] + r[o[3]]; break;
		case PARAM: r[o[0]] = l->param[o[1]]; break;
		case SETP_GE: r[o[0]] = r[o[1]] >= r[o[2]]; break;
		case BRA: pc = o[0]; break;
		case RET: return true;
		case CVTA: r[o[0]] = r[o[1]]; break; // global addresses are generic ones
		case ADD: r[o[0]] = r[o[1]] + r[o[2]]; break;
		case NOT: r[o[0]] = (uint16_t)~r[o[1]]; break;
		case LOAD:
			if (!(byte = touch(&l->read, r[o[1]])))
				return false;
			r[o[0]] = *byte;
			break;
		case STORE:
			if (!(byte = touch(&l->write, r[o[0]])))
				return false;
			*byte = (uint8_t)r[o[1]];
		}
	}
	return true;
}

bool ptx_run(const struct kernel *k, struct launch *l) {
	uint64_t r[MAX_REGISTERS];
	unsigned n[6] = {l->block[0], l->block[1], l->block[2], l->grid[0], l->grid[1], l->grid[2]}, at[6] = {0};
	for (;;) {
		memset(r, 0, sizeof r);
		for (int i = 0; i < 6; i++)
			r[i] = at[i];
		for (int i = 0; i < 3; i++)
			r[6 + i] = l->block[i];
		if (!thread(k, l, r))
			return false;
		int i = 0;
		while (i < 6 && ++at[i] == n[i])
			at[i++] = 0;
		if (i == 6)
			return true;
	}
}
