#!/usr/bin/env bash
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Runs the checks in stages, each with a time limit in seconds. The limits are
# several times what a cold run on two cores takes.
#
#   test.sh             every stage
#   test.sh fmt vet     only those
set -euo pipefail
cd "$(dirname "$0")/.."

export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
tool() { go tool -modfile=tools/go.mod "$@"; }

child=
stop() {
	trap - INT TERM
	# The stage runs as a process group of its own, so that no child of a test survives.
	[ -n "$child" ] && kill -TERM -- "-$child" 2>/dev/null
	echo "stopped" >&2
	exit 130
}
trap stop INT TERM

# run_stage NAME LIMIT runs the function stage_NAME in a shell of its own.
run_stage() {
	local name=$1 limit=$2 began=$SECONDS rc=0
	echo "==> $name (limit ${limit} s)"
	set -m
	timeout --kill-after=10 "$limit" bash "$0" --inside "$name" </dev/null &
	child=$!
	set +m
	wait "$child" || rc=$?
	child=
	case $rc in
	0) echo "<== $name: ok in $((SECONDS - began)) s" ;;
	124 | 137)
		echo "<== $name: FAILED: exceeded its limit of $limit s" >&2
		exit 1
		;;
	*)
		echo "<== $name: FAILED after $((SECONDS - began)) s (exit $rc)" >&2
		exit 1
		;;
	esac
}

stage_setup() { sh scripts/setup.sh; }

# Fetches what the build, the tests and the lint tools import, so that no later limit pays for the network.
stage_download() {
	go list -deps -test ./... >/dev/null
	go list -modfile=tools/go.mod -deps tool >/dev/null
	local m
	for m in benchmarks/plot adapters/*/; do go -C "$m" list -deps -test ./... >/dev/null; done
}

stage_fmt() {
	local bad
	bad=$(tool gofumpt -l $(sh scripts/gofiles.sh))
	[ -z "$bad" ] || {
		printf 'not formatted (run make fmt):\n%s\n' "$bad" >&2
		return 1
	}
}

stage_vet() { go vet ./...; }

stage_staticcheck() { tool staticcheck ./...; }

stage_house() { go test -count=1 ./internal/lint/...; }

# units lists the packages whose tests need no built binaries.
units() { go list ./... | grep -v -e '/e2e$' -e '/e2e/' -e '/internal/lint$'; }

stage_unit() { go test -count=1 -timeout 880s $(units); }

# The exchanges with real Zenoh nodes run in the unit stage alone: they have leases to keep.
stage_race() { CGO_ENABLED=1 go test -race -count=1 -timeout 880s $(units | grep -v '/zenoh/interop$'); }

stage_build() { make --no-print-directory build; }

# The binaries must start where there is no dynamic loader at all.
stage_static() {
	local dir bin
	dir=$(mktemp -d)
	trap "rm -rf '$dir'" EXIT # expanded now: the variable is gone by then
	CGO_ENABLED=0 go build -trimpath -tags nodl -o "$dir/" ./cmd/camd ./cmd/camsub
	for bin in camd camsub; do
		if ldd "$dir/$bin" >/dev/null 2>&1; then
			echo "$bin built with -tags nodl is not static:" >&2
			ldd "$dir/$bin" >&2
			return 1
		fi
		go version -m "$dir/$bin" | grep -q 'CGO_ENABLED=0'
		"$dir/$bin" version >/dev/null
	done
	CGO_ENABLED=0 go vet -tags nodl ./...
}

# Everything, examples included, compiles for the other architecture without a C compiler.
stage_arm64() {
	CGO_ENABLED=0 GOARCH=arm64 go build ./...
	CGO_ENABLED=0 GOARCH=arm64 go build -tags nodl ./...
}

# The program that draws is a module of its own, which ./... above does not see.
stage_plot() (
	cd benchmarks/plot
	go vet ./...
	go tool -modfile=../../tools/go.mod staticcheck ./...
	go test -count=1 -timeout 100s ./...
)

# Each library of others in a module of its own, which sets itself up.
stage_adapters() {
	local m
	for m in adapters/*/; do make --no-print-directory -C "$m" test; done
}

stage_e2e() { go test -count=1 -timeout 680s $(go list ./e2e/... | grep -v '/e2e/vm'); }

# Real camera drivers in a virtual machine. What runs inside of it has a tag.
stage_vm() {
	CGO_ENABLED=0 go vet -tags vmguest,nodl ./e2e/vm/guest
	CGO_ENABLED=0 tool staticcheck -tags vmguest,nodl ./e2e/vm/guest
	go test -count=1 -timeout 500s -v ./e2e/vm
}

stages=(
	"setup 600"
	"download 300"
	"fmt 240"
	"vet 300"
	"staticcheck 400"
	"house 120"
	"build 180"
	"static 180"
	"arm64 240"
	"unit 900"
	"race 900"
	"plot 200"
	"e2e 700"
	"vm 600"
	"adapters 900"
)

if [ "${1:-}" = --inside ]; then
	trap - INT TERM
	"stage_$2"
	exit
fi

wanted=" $* "
ran=0
for s in "${stages[@]}"; do
	read -r name limit <<<"$s"
	[ $# -eq 0 ] || [[ $wanted == *" $name "* ]] || continue
	run_stage "$name" "$limit"
	ran=$((ran + 1))
done
if [ $# -gt 0 ] && [ "$ran" -ne $# ]; then
	echo "unknown stage among: $*. Known are: $(printf '%s\n' "${stages[@]}" | cut -d' ' -f1 | xargs)" >&2
	exit 2
fi
echo "all $ran stages passed in $SECONDS s"
