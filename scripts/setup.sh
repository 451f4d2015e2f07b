#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Installs what the tests and the demo use beside Go, on Debian and Ubuntu.
# Building camd needs none of it. Says nothing when everything is there.
#
#   setup.sh            everything that make test uses
#   setup.sh ffmpeg     only the packages named
set -eu

clip=/usr/share/doc/opencv-doc/examples/data/vtest.avi

have() {
	case $1 in
	gcc) command -v gcc >/dev/null 2>&1 && [ -f /usr/include/stdlib.h ] ;; # go test -race links with it
	opencv-doc) [ -f "$clip" ] ;;                                          # real footage
	libturbojpeg0) /sbin/ldconfig -p | grep -q libturbojpeg.so.0 ;;        # decodes JPEG at run time
	libjpeg-turbo-progs) command -v djpeg >/dev/null 2>&1 ;;               # the reference decoder
	python3-venv) python3 -c 'import ensurepip' >/dev/null 2>&1 ;;         # for eclipse-zenoh, OpenCV and ROS 2 decoders
	iproute2) command -v ip >/dev/null 2>&1 && command -v tc >/dev/null 2>&1 ;; # weak links
	libopencv-dev) pkg-config --exists opencv4 2>/dev/null ;;              # for adapters/gocv
	xvfb) command -v Xvfb >/dev/null 2>&1 ;;                               # shows windows to tests
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

[ $# -gt 0 ] || set -- ffmpeg opencv-doc strace python3 python3-venv gcc libturbojpeg0 libjpeg-turbo-progs openssl iproute2

missing=
for p in "$@"; do
	have "$p" && continue
	case $p in
	gcc) missing="$missing gcc libc6-dev" ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing. Install them with this system's package manager (the names are Debian's)." >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "missing:$missing. Install them with" >&2
	echo "    sudo apt-get update && sudo apt-get install --no-install-recommends$missing" >&2
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
	if ! "$@" >"$log" 2>&1 </dev/null; then
		cat "$log" >&2
		echo "setup: failed: $*" >&2
		exit 1
	fi
}
export DEBIAN_FRONTEND=noninteractive
echo "setup: installing$missing"
quietly apt-get -qq -o DPkg::Lock::Timeout=120 update
# Container images leave /usr/share/doc out; the footage lies there. --reinstall
# brings it where the package came without it.
# shellcheck disable=SC2086
quietly apt-get -qq -y -o DPkg::Lock::Timeout=120 install --no-install-recommends --reinstall \
	-o Dpkg::Options::=--path-include=/usr/share/doc/opencv-doc/* $missing

for p in "$@"; do
	have "$p" || {
		echo "setup: $p was installed but is not usable" >&2
		exit 1
	}
done
