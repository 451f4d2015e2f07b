// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"fmt"
	"sync"
)

// Pin keeps the writer's mapping of the pixels where it is until unpin, also
// after Retire: for whoever has it registered with a device by its address. All
// of it is returned, slot i at Offset(i). unpin may be called twice. It fails with
// ErrRetired, and with ErrConfig when the pixels are elsewhere.
func (r *Ring) Pin() (pixels []byte, unpin func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.pixels == nil:
		return nil, nil, fmt.Errorf("%w: no pixels here to pin", ErrConfig)
	case r.retired:
		return nil, nil, ErrRetired
	}
	r.pins++
	return r.pixels.Data, sync.OnceFunc(r.unpin), nil
}

func (r *Ring) unpin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pins--; r.idle() {
		r.unmap()
	}
}
