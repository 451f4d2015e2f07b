#!/bin/sh
# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes an authority, a certificate for a router and one for those who connect to
# it, to try the mTLS configurations with. Not for use: the authority's key lies
# beside the others without a password, and who copies a key is whom it names.
#
#   sh make-test-ca.sh [-o DIR] [-d DAYS] [NAME|ADDRESS]...
#
# writes ca.pem, server.pem, server-key.pem, client.pem and client-key.pem to DIR
# (tls). The router's certificate is for localhost and for each NAME and ADDRESS.
set -eu
umask 077

dir=tls days=30
while getopts o:d: option; do
	case $option in
	o) dir=$OPTARG ;;
	d) days=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

names=DNS:localhost,IP:127.0.0.1,IP:::1
for host; do
	case $host in
	*[!0-9.]*:* | *:*) names=$names,IP:$host ;; # IPv6
	*[!0-9.]*) names=$names,DNS:$host ;;
	*) names=$names,IP:$host ;;
	esac
done

command -v openssl >/dev/null || {
	echo "make-test-ca.sh: openssl is not installed: apt-get install openssl" >&2
	exit 1
}
if [ -e "$dir/ca.pem" ]; then
	echo "make-test-ca.sh: $dir/ca.pem is there already; certificates of two authorities do not go together: remove $dir or choose another with -o" >&2
	exit 1
fi
mkdir -p "$dir"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# key FILE: a private key of P-256, PKCS #8, which every TLS library reads.
key() {
	openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>"$work/log" || fail
}

fail() {
	cat "$work/log" >&2
	exit 1
}

# issue NAME SUBJECT EXTENSIONS: a certificate that the authority signs.
issue() {
	key "$dir/$1-key.pem"
	printf '%b' "$3" >"$work/extensions"
	openssl req -new -key "$dir/$1-key.pem" -subj "/CN=$2" -out "$work/request" 2>"$work/log" || fail
	openssl x509 -req -in "$work/request" -CA "$dir/ca.pem" -CAkey "$dir/ca-key.pem" -days "$days" \
		-set_serial "0x$(openssl rand -hex 16)" -extfile "$work/extensions" -out "$dir/$1.pem" 2>"$work/log" || fail
}

key "$dir/ca-key.pem"
printf '[req]\ndistinguished_name=name\nx509_extensions=ca\n[name]\n[ca]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n' >"$work/config"
openssl req -x509 -new -config "$work/config" -key "$dir/ca-key.pem" -subj "/CN=camd test authority" -days "$days" -out "$dir/ca.pem" 2>"$work/log" || fail

common='basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nauthorityKeyIdentifier=keyid\n'
issue server "zenoh router" "${common}extendedKeyUsage=serverAuth\nsubjectAltName=$names\n"
issue client "camd client" "${common}extendedKeyUsage=clientAuth\n"

chmod 644 "$dir"/ca.pem "$dir"/server.pem "$dir"/client.pem
echo "$dir: ca.pem, server.pem, server-key.pem (router: $names), client.pem, client-key.pem; valid for $days days"
