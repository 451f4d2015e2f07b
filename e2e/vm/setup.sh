#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

# Gets what the virtual machine of the tests is made of: QEMU, and Debian's
# kernel, which is downloaded and unpacked but never installed. Prints the
# folder with vmlinuz and modules. Exit 3: cannot be set up here, the reason is
# on standard error.
#
#   setup.sh CACHE
set -eu

cache=$1
cannot() {
	echo "$*" >&2
	exit 3
}
apt() { apt-get -qq -o DPkg::Lock::Timeout=120 "$@" </dev/null >&2; }

[ "$(uname -m)" = x86_64 ] || cannot "the machine that is emulated is x86_64, this one is $(uname -m)"
for tool in apt-get apt-cache dpkg-deb; do
	command -v "$tool" >/dev/null 2>&1 || cannot "the kernel comes from a Debian package, and $tool is missing"
done

updated=
update() {
	[ -n "$updated" ] || apt update || cannot "the package lists cannot be fetched"
	updated=1
}

if ! command -v qemu-system-x86_64 >/dev/null 2>&1; then
	[ "$(id -u)" = 0 ] || cannot "QEMU is missing: sudo apt-get install --no-install-recommends qemu-system-x86"
	update
	DEBIAN_FRONTEND=noninteractive apt -y install --no-install-recommends qemu-system-x86 || cannot "QEMU cannot be installed"
fi

name() { apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1; }

package=$(name)
if [ -z "$package" ]; then
	# Without lists, what is there already will do.
	for dir in "$cache"/linux-image-*; do
		if [ -f "$dir/complete" ]; then
			echo "$dir"
			exit 0
		fi
	done
	update
	package=$(name)
	[ -n "$package" ] || cannot "there is no package linux-image-amd64; Debian has one"
fi
dir=$cache/$package
if [ -f "$dir/complete" ]; then
	echo "$dir"
	exit 0
fi
mkdir -p "$cache"
tmp=$(mktemp -d "$cache/unpack.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
fetch() { (cd "$tmp" && apt -o APT::Sandbox::User=root download "$package"); }
# Old versions vanish from the mirrors: then the lists were old too.
if ! fetch; then
	update
	package=$(name)
	dir=$cache/$package
	fetch || cannot "the kernel package $package cannot be downloaded"
fi
mkdir "$tmp/root"
dpkg-deb --fsys-tarfile "$tmp"/linux-image-*.deb | tar x -C "$tmp/root" --wildcards --no-anchored \
	'./boot/vmlinuz-*' '*/kernel/drivers/media/*' '*/kernel/drivers/usb/*'
rm -f "$tmp"/*.deb
cp "$tmp"/root/boot/vmlinuz-* "$tmp/root/vmlinuz"
touch "$tmp/root/complete"
rm -rf "$dir"
mv "$tmp/root" "$dir"
echo "$dir"
