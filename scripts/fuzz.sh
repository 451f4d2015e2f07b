#!/usr/bin/env bash
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of the project for the given time each (default 10s).
# What it finds is left in the package's testdata/fuzz, to be committed.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10s}
count=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs one target. What is interesting is minimized for a second at most: the
# default of a minute is longer than the runs. Go's fuzzer at times takes the end
# of the time for a failure (go.dev/issue/75804): it then has no input to show.
fuzz() {
	go test -run '^$' -fuzz "^$1\$" -fuzztime "$time" -fuzzminimizetime 1s "$2" </dev/null 2>&1 | tee "$log" && return
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -qE 'Failing input written|panic:|fatal error:' "$log"
}

for pkg in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
	grep -qs '^func Fuzz' "$(go list -f '{{.Dir}}' "$pkg")"/*_test.go || continue
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz'); do
		echo "==> $pkg $target ($time)"
		fuzz "$target" "$pkg"
		count=$((count + 1))
	done
done
echo "$count fuzz targets, $time each"
