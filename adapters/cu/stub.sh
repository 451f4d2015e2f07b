#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Builds a libcuda.so to link with where there is no toolkit and no driver, as the
# one in a toolkit's folder "stubs": it has the functions of the cuda.h of a folder,
# which do nothing. Programs that are linked with it look for libcuda.so.1, the
# driver, when they start.
#
#   stub.sh INCLUDE FOLDER
set -eu

here=$(dirname "$0")
mkdir -p "$2"
# 34: CUDA_ERROR_STUB_LIBRARY.
sh "$here/declared.sh" "$1" | sed 's/.*/int &(void) { return 34; }/' >"$2/stub.c"
"${CC:-cc}" -O2 -fPIC -shared -Wl,-soname,libcuda.so.1 -o "$2/libcuda.so" "$2/stub.c"
