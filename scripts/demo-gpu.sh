# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh

# The part of demo.sh with a GPU, real or simulated, which reads this file when
# camd runs: the same stream by cuda and by shm, each frame checked, and a
# program in C. Uses its variables and sets failed.
failed=0
duration=${DURATION:-10s}

# say prints its arguments, marked where the GPU is simulated.
say() { printf '%s%s\n' "$label" "$*"; }

# begin NAME SUFFIX COMMAND... starts a subscriber and remembers it as NAME.
begin() {
	name=$1 output=$out/$1.$2
	shift 2
	timeout 45 "$@" >"$output" 2>"$out/$name.log" </dev/null &
	eval "pid_$name=\$!"
	pids="$pids $!"
}

programs='cuda shm'
say "\$ camsub hz $stream --require cuda --verify"
begin cuda csv "$bin/camsub" hz "$stream" --require cuda --verify --duration "$duration" --timeout 10s --format csv
say "\$ camsub hz $stream --require shm --verify"
begin shm csv "$bin/camsub" hz "$stream" --require shm --verify --duration "$duration" --timeout 10s --format csv
if command -v cc >/dev/null 2>&1; then
	say "\$ cc clients/c/reader.c clients/c/camd.c -o reader && ./reader $stream --require cuda --verify"
	if cc clients/c/reader.c clients/c/camd.c -o "$run/reader" 2>"$out/c.log"; then
		programs='cuda shm c'
		begin c txt "$run/reader" "$stream" --require cuda --verify --timeout-ms 10000
	else
		failed=1
		cat "$out/c.log" >&2
	fi
else
	say "the program in C is left out: there is no C compiler"
fi

# The program in C ends by a signal, so it is not asked for a time. Status is
# shown while everybody reads: as soon as all are there, after 5 s in any case;
# of its tables those with subscribers and GPU.
n=0
while [ $n -lt 25 ] && [ "$("$bin/camd" status --format json | grep -c '"backend": "cuda"')" -lt "$(($(echo "$programs" | wc -w) - 1))" ]; do
	sleep 0.2
	n=$((n + 1))
done
echo
say "\$ camd status"
"$bin/camd" status | awk -v RS= -v ORS='\n\n' '/^(SUBSCRIBER|GPU|ON THE GPU)/' | sed "s/^./$label&/"
say "every frame is checked, for $duration"

for name in $programs; do
	eval "p=\$pid_$name"
	[ "$name" != c ] || kill -TERM "$p" 2>/dev/null || :
	rc=0
	wait "$p" || rc=$?
	if [ "$rc" -ne 0 ]; then
		failed=1
		echo "demo: the subscriber $name failed (exit $rc):" >&2
		tail -n 5 "$out/$name.log" >&2
	fi
done
pids=$camd

# row NAME CSV-FILE prints a subscriber's line of the table; without frames or
# with wrong ones it fails.
row() {
	awk -F , -v name="$1" -v label="$label" '
	NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
	{
		n = $col["frames"]; bad = $col["torn"] + $col["stale"]
		printf "%s%-14s %-5s %8d %8d %8d\n", label, name, $col["backend"], n, $col["missed"], bad
	}
	END { exit NR < 2 || n < 1 || bad > 0 }' "$2"
}

echo
printf '%s%-14s %-5s %8s %8s %8s\n' "$label" program path frames missed 'not whole'
row 'camsub' "$out/cuda.csv" || failed=1
row 'camsub' "$out/shm.csv" || failed=1
case $programs in
*c)
	# What it prints is for people; here it gets the columns of the others.
	awk '$1 == "path" { path = $2 }
	$1 == "frames" { print "backend,frames,missed,torn,stale"; printf "%s,%s,%s,%s,%s\n", path, $2, $4, $6, $8 }' \
		"$out/c.txt" >"$out/c.csv"
	row 'reader (C)' "$out/c.csv" || failed=1
	;;
esac
if [ "$cuda" = sim ] && [ -s "$CUDASIM_DIR/reports.jsonl" ]; then
	failed=1
	echo "demo: rules of the driver were broken:" >&2
	cat "$CUDASIM_DIR/reports.jsonl" >&2
fi
echo
echo "${label}CSV and logs: $out/"
