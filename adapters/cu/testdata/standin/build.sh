#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Builds what cu is linked with in the test, into a folder:
#
#   build.sh INCLUDE FOLDER
#
# libcuda.so.1          the simulated driver
# libcuda-standin.so    modules and launches, and for every function that cuda.h in
#                       INCLUDE declares and neither of them has, one that returns
#                       CUDA_ERROR_NOT_SUPPORTED (801)
# libcuda.so            text that has ld take both for -lcuda
set -eu

include=$1
out=$(mkdir -p "$2" && cd "$2" && pwd)
cd "$(dirname "$0")"
cc=${CC:-cc}

sh ../../../../cudabuf/driver/sim/build.sh "$out"
{ # what is there
	nm -D --defined-only "$out/libcuda.so.1" | awk '{print $3}'
	sed -n 's/^API \(cu[A-Za-z0-9]*\)(.*/\1/p' module.c
} | sort -u >"$out/there"
sh ../../declared.sh "$include" >"$out/declared"
{
	echo '#pragma GCC visibility push(default)'
	comm -23 "$out/declared" "$out/there" | sed 's/.*/int &(void) { return 801; }/'
} >"$out/absent.c"
$cc -std=gnu11 -O2 -g -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror -I"$include" \
	-Wl,-soname,libcuda-standin.so -o "$out/libcuda-standin.so" \
	ptx.c module.c "$out/absent.c" "$out/libcuda.so.1"
echo 'INPUT(libcuda.so.1 libcuda-standin.so)' >"$out/libcuda.so"
