// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

// Vec is a list of byte slices to write, in units (batches) between which other
// data may pass. It is made to be filled again and again.
type Vec struct {
	bufs [][]byte
	ends []int // bufs[:ends[i]] are the units up to and with i
}

// Reset empties v.
func (v *Vec) Reset() {
	clear(v.bufs)
	v.bufs, v.ends = v.bufs[:0], v.ends[:0]
}

// Add appends b, which must not change until it is written.
func (v *Vec) Add(b []byte) {
	if len(b) > 0 {
		v.bufs = append(v.bufs, b)
	}
}

// End ends a unit.
func (v *Vec) End() { v.ends = append(v.ends, len(v.bufs)) }

// Units is the number of units.
func (v *Vec) Units() int { return len(v.ends) }

// Bufs is the number of slices.
func (v *Vec) Bufs() int { return len(v.bufs) }

// Bytes is how many bytes the first units have.
func (v *Vec) Bytes(units int) (n int) {
	if units > 0 {
		for _, b := range v.bufs[:v.ends[units-1]] {
			n += len(b)
		}
	}
	return n
}
