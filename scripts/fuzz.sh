#!/usr/bin/env bash
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of the project for the given time each (default 10s).
# What it finds is left in the package's testdata/fuzz, to be committed.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10s}
count=0
for pkg in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
	grep -qs '^func Fuzz' "$(go list -f '{{.Dir}}' "$pkg")"/*_test.go || continue
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz'); do
		echo "==> $pkg $target ($time)"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg" </dev/null
		count=$((count + 1))
	done
done
echo "$count fuzz targets, $time each"
