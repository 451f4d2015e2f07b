// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"errors"

	because "github.com/seed-3c7e7623/camd/cudabuf/reason"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// reason is the word for what keeps frames from the GPU.
func reason(err error) negotiate.Reason {
	switch {
	case errors.Is(err, errOff):
		return negotiate.ReasonPolicy
	case errors.Is(err, errStuck):
		return negotiate.ReasonGPULost
	case errors.Is(err, errSlow):
		return negotiate.ReasonGPUTimeout
	}
	return because.Of(err)
}
