#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# One daemon and two subscribers for ten seconds, then what they saw. Stops by
# itself and leaves nothing but CSV files under results/.
#
#   CLIP=FILE    play this file in place of the first camera
#   CUDA=auto    with an NVIDIA GPU: a subscriber in its memory, one beside it in
#                shared memory, and a program in C; =1: or fail; =0: never;
#                =sim: with the simulated driver, where there is no GPU
#   DURATION=10s how long the subscribers measure
#   BIN=bin      where camd and camsub are
#   OUT=FOLDER   where CSV and logs go
#   demo.sh check only looks whether CLIP can be played and what CUDA takes is
#   there, before anything is built
set -eu

# Before the change of folder: a relative path is the caller's.
clip=${CLIP:-}
case $clip in
'' | /* | *://*) ;;
*) clip=$PWD/$clip ;;
esac
cd "$(dirname "$0")/.."

if [ -n "$clip" ]; then
	case $clip in
	*://*) ;;
	*) [ -r "$clip" ] || {
		echo "demo: cannot read CLIP=$clip" >&2
		exit 4
	} ;;
	esac
	sh scripts/setup.sh ffmpeg || {
		echo "demo: playing a file needs ffmpeg. Without CLIP the demo shows a camera or the test pattern." >&2
		exit 1
	}
fi

cuda=${CUDA:-auto}
case $cuda in
auto | 0 | 1) ;;
sim)
	sh scripts/setup.sh gcc || {
		echo "demo: the simulated driver and the program in C need gcc. Without CUDA=sim the demo needs no compiler." >&2
		exit 1
	}
	;;
*)
	echo "demo: CUDA=$cuda is none of auto, 1, 0, sim" >&2
	exit 2
	;;
esac

[ "${1:-}" != check ] || exit 0

bin=${BIN:-bin}
for b in camd camsub; do
	[ -x "$bin/$b" ] || {
		echo "demo: $bin/$b is missing, run make build" >&2
		exit 1
	}
done

out=${OUT:-results/demo-$(date +%Y%m%d-%H%M%S)}
mkdir -p "$out"
run=$(mktemp -d)
export CAMD_RUNTIME_DIR="$run"
pids=

cleanup() {
	trap '' INT TERM
	[ -z "$pids" ] || kill $pids 2>/dev/null || :
	n=0
	for p in $pids; do
		while kill -0 "$p" 2>/dev/null && [ $n -lt 50 ]; do
			sleep 0.1
			n=$((n + 1))
		done
		kill -9 "$p" 2>/dev/null || :
	done
	rm -rf "$run"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

set --
if [ -n "$clip" ]; then
	spec=$(printf '%s' "$clip" | sed 's/[\\,]/\\&/g')
	set -- --camera "clip=replay:$spec,loop=true"
fi
label=
case $cuda in
sim)
	label='simulated: '
	library=$PWD/.cache/cuda-sim
	mkdir -p "$library" "$run/gpu"
	cudabuf/driver/sim/build.sh "$library"
	export CUDASIM_DIR="$run/gpu" CAMD_CUDA_LIBRARY="$library/libcuda.so.1"
	echo "${label}there is no GPU in this demo. A library that plays the driver and keeps the rules takes"
	echo "${label}its place; what is shown is that frames get there, not how fast."
	set -- "$@" --set "cuda.library=$CAMD_CUDA_LIBRARY"
	;;
0) set -- "$@" --set cuda.enabled=false ;;
esac
"$bin/camd" run "$@" >"$out/camd.log" 2>&1 </dev/null &
camd=$!
pids=$camd

# The daemon is ready when a stream has a running camera: asked for, for 15 s at most.
stream=
n=0
while [ -z "$stream" ]; do
	if ! kill -0 "$camd" 2>/dev/null; then
		rc=0
		wait "$camd" || rc=$?
		pids=
		# The last words say it; the log has them as well.
		echo "demo: camd ended by itself (exit $rc), its log is $out/camd.log" >&2
		grep '^camd: ' "$out/camd.log" >&2 || tail -n 20 "$out/camd.log" >&2
		[ "$rc" -ne 0 ] || rc=1
		exit "$rc"
	fi
	stream=$("$bin/camsub" list --format csv 2>/dev/null | awk -F , '
		NR == 1 {for (i = 1; i <= NF; i++) col[$i] = i; next}
		$col["state"] == "running" {print $col["stream"]; exit}')
	[ -z "$stream" ] || break
	n=$((n + 1))
	if [ $n -ge 75 ]; then
		echo "demo: no stream is running after 15 s. What camd says:" >&2
		"$bin/camsub" list >&2 || :
		tail -n 20 "$out/camd.log" >&2
		exit 1
	fi
	sleep 0.2
done
"$bin/camsub" info "$stream" || :
echo

# A GPU that can be used is named in the status with the kind of its handles.
if [ "$cuda" = auto ] || [ "$cuda" = 1 ]; then
	case $("$bin/camd" status --format json) in
	*'"handle": "vmm_fd"'*) cuda=gpu ;;
	*)
		[ "$cuda" != 1 ] || {
			echo "demo: CUDA=1, but camd has no GPU:" >&2
			"$bin/camd" status | awk -v RS= '/^GPU/' >&2
			exit 5
		}
		;;
	esac
fi
if [ "$cuda" = gpu ] || [ "$cuda" = sim ]; then
	. scripts/demo-gpu.sh
	exit $failed
fi

echo "two subscribers measure for ${DURATION:-10s}"

for i in 1 2; do
	timeout 45 "$bin/camsub" latency "$stream" --duration "${DURATION:-10s}" --timeout 10s --verify --format csv \
		>"$out/subscriber-$i.csv" 2>"$out/subscriber-$i.log" </dev/null &
	eval "sub$i=\$!"
	pids="$pids $!"
done

failed=0
for i in 1 2; do
	eval "p=\$sub$i"
	rc=0
	wait "$p" || rc=$?
	if [ "$rc" -ne 0 ]; then
		failed=1
		echo "demo: subscriber $i failed (exit $rc):" >&2
		tail -n 5 "$out/subscriber-$i.log" >&2
	fi
done
pids=$camd

echo
printf '%-10s  %7s  %9s  %13s  %-19s  %-19s\n' subscriber frames rate lost 'ready to held' 'capture to held'
for i in 1 2; do
	awk -F , -v name="$i" '
	function us(ns) { return ns == "" ? "-" : sprintf("%.0f us", ns / 1000) }
	function pair(m) { return us(p50[m]) " / " us(p99[m]) }
	NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
	{
		m = $col["metric"]
		count[m] = $col["count"]; mean[m] = $col["mean"]; dropped[m] = $col["dropped"]
		p50[m] = $col["p50"]; p99[m] = $col["p99"]
	}
	END {
		if (!("ready_to_held" in count)) { printf "%-10s  no measurement\n", name; exit 1 }
		n = count["ready_to_held"]; d = dropped["ready_to_held"]
		rate = mean["period"] > 0 ? sprintf("%.2f/s", 1e9 / mean["period"]) : "-"
		printf "%-10s  %7d  %9s  %4d (%.2f %%)  %-19s  %-19s\n", name, n, rate, d, n + d ? 100 * d / (n + d) : 0, pair("ready_to_held"), pair("capture_to_held")
	}' "$out/subscriber-$i.csv" || failed=1
done
echo "(latencies: p50 / p99. ready: complete in shared memory; held: in the subscriber's hands)"
echo
"$bin/camd" status || failed=1
echo
echo "CSV and logs: $out/"
exit $failed
