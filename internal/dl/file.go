// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package dl

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// File is the path of the file, behind all links, that holds a function; "" if
// it cannot be found out.
func File(f Func) string {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return ""
	}
	defer maps.Close()
	for s := bufio.NewScanner(maps); s.Scan(); {
		if path, ok := mapped(s.Text(), uint64(f)); ok {
			return path
		}
	}
	return ""
}

// mapped is the file of a line like "7f01-7f02 r-xp 00000000 08:01 1234   /usr/lib/libc.so.6"
// and whether the address lies in it.
func mapped(line string, address uint64) (string, bool) {
	rest := line
	var fields [5]string
	for i := range fields {
		fields[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	from, to, _ := strings.Cut(fields[0], "-")
	begin, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return "", false
	}
	end, err := strconv.ParseUint(to, 16, 64)
	if err != nil || address < begin || address >= end {
		return "", false
	}
	return strings.TrimLeft(rest, " "), true
}
