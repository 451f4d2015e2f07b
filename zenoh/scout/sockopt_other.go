// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package scout

import (
	"errors"
	"net/netip"
)

// On other systems the group is asked by the interface that the system chooses,
// and questions of others do not come in.
func setMulticastFrom(uintptr, netip.Addr, int) error { return nil }

func share(uintptr) error { return nil }

func addMembership(uintptr, netip.Addr, netip.Addr) error { return errors.ErrUnsupported }
