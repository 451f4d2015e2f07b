#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Succeeds silently where the go command can build camd, else says in one
# message what was found and what to do. Go 1.21 and later fetch the toolchain
# that go.mod names by themselves; earlier ones cannot.
set -eu
cd "$(dirname "$0")/.."
need=$(awk '$1 == "go" {print $2; exit}' go.mod)

refuse() {
	cat >&2 <<EOT
camd needs Go $need, or any Go from 1.21 on that may fetch it by itself. $1
$2
EOT
	exit 1
}

tarball="Install a current Go from https://go.dev/dl/ (a tar file, no packages needed):
    sudo rm -rf /usr/local/go
    sudo tar -C /usr/local -xzf go$need.linux-*.tar.gz
    export PATH=/usr/local/go/bin:\$PATH
then run make again. The golang package of Debian 12 and Ubuntu 22.04 is too old."

command -v go >/dev/null 2>&1 || refuse "There is no go command in PATH." "$tarball"

# Asked outside the module, so that it is the installed one that answers.
installed=$(cd / && go env GOVERSION 2>/dev/null) || installed=
[ -n "$installed" ] || installed=$(cd / && go version | awk '{print $3}')

minor() { echo "$1" | sed -n 's/^go1\.\([0-9]*\).*/\1/p'; }
have=$(minor "$installed")
want=$(minor "go$need")

case $installed in devel*) exit 0 ;; esac
[ -n "$have" ] || refuse "Could not read the version of $(command -v go): \"$installed\"." "$tarball"
[ "$have" -ge "$want" ] && exit 0
[ "$have" -ge 21 ] || refuse "Found $installed at $(command -v go)." "$tarball"

# New enough to switch: go fetches the toolchain here if it has not yet.
effective=$(go env GOVERSION 2>&1) || effective="nothing: $effective"
have=$(minor "$effective")
[ -n "$have" ] && [ "$have" -ge "$want" ] || refuse "Found $installed at $(command -v go), which in this folder becomes $effective." \
	"If GOTOOLCHAIN names a version or is local (see: go env GOTOOLCHAIN), run
    go env -w GOTOOLCHAIN=auto
else see whether this machine reaches its Go module proxy (go env GOPROXY)."
