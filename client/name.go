// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"os"
	"strings"
	"sync"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// SplitHost takes "HOST:camera/stream" apart; host is "" where none is named.
// Topics have no host.
func SplitHost(name string) (host, stream string) {
	at := strings.IndexByte(name, ':')
	if at < 1 || IsTopic(name) || strings.Contains(name[:at], "/") {
		return "", name
	}
	return name[:at], name[at+1:]
}

// leastBoot is how many characters of a boot id name a host.
const leastBoot = 8

// place is a host, as announcements tell of it.
type place struct{ host, boot string }

// here is the host of this process, as far as that can see it: in a container
// its name is another one.
var here = sync.OnceValue(func() place {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return place{host, linux.BootID()}
})

// named reports whether a user's word means the place: its name, or the begin of
// its boot id, since names of hosts are not unique.
func (p place) named(word string) bool {
	return word == p.host || len(word) >= leastBoot && strings.HasPrefix(p.boot, word)
}

// ThisHost reports whether a word means the host of this process: its name, its
// boot id or the begin of it, or localhost.
func ThisHost(word string) bool { return word == localhost || here().named(word) }

const localhost = "localhost"

// same reports whether both are surely one host; unknown ones are not.
func (p place) same(o place) bool { return p.boot != "" && p.boot == o.boot }

func (p place) String() string {
	if p.host == "" {
		return "boot id " + p.boot
	}
	return p.host
}
