#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Builds the simulated driver into a folder, as libcuda.so.1:
#
#   build.sh FOLDER
#
# The flags are those of build.go.
set -eu

out=$(cd "$1" && pwd)
cd "$(dirname "$0")/libcuda"
exec "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -shared -fvisibility=hidden -pthread \
	-Wall -Wextra -Werror -Wl,-soname,libcuda.so.1 ${CFLAGS:-} -o "$out/libcuda.so.1" *.c
