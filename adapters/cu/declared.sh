#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Prints the functions that the cuda.h of a folder declares, under the names that
# its macros give them:
#
#   declared.sh INCLUDE
set -eu

echo '#include <cuda.h>' | "${CC:-cc}" -E -P -I"$1" - | tr '\n' ' ' |
	grep -oE 'CUresult +cu[A-Z][A-Za-z0-9_]* *\(' | grep -oE 'cu[A-Z][A-Za-z0-9_]*' | sort -u
