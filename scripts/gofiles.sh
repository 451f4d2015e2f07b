#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Prints the project's Go files, new ones included, ignored ones not.
set -eu
cd "$(dirname "$0")/.."
if git rev-parse --git-dir >/dev/null 2>&1; then
	git ls-files -co --exclude-standard -- '*.go' | while read -r f; do
		[ -f "$f" ] && echo "$f"
	done
else
	find . -name '.?*' -prune -o -path ./bin -prune -o -name '*.go' -print
fi
