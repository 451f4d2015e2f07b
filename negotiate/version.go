// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import "fmt"

// Current is the protocol that this build speaks.
func Current() Protocol { return Protocol{Major: Major, Minor: Minor} }

// Check returns nil if this build can talk to a side that speaks p, else
// [ErrVersion] in words for people. Whoever receives a hello, offer or list of
// streams checks first: from another major version only Protocol is filled.
func (p Protocol) Check() error {
	if p.Major == Major {
		return nil
	}
	return fmt.Errorf("%w: the other side speaks %s, this one %s: use camd and camsub of the same release", ErrVersion, p, Current())
}

// String is "major.minor".
func (p Protocol) String() string { return fmt.Sprintf("%d.%d", p.Major, p.Minor) }
