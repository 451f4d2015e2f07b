#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Prints the version of this tree: the tag, or a development version with the
# commit, or without it where there is no usable git checkout.
set -eu
cd "$(dirname "$0")/.."
if v=$(git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null); then
	echo "${v#v}"
elif c=$(git describe --always --exclude '*' --abbrev=9 --dirty 2>/dev/null); then
	echo "0.0.0-dev+$c"
else
	echo "0.0.0-dev"
fi
