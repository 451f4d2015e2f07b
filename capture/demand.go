// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

// Demander is implemented by writers that know whether anybody reads the
// stream. A source whose frames cost work, such as decoding, asks before it
// does that work.
type Demander interface {
	// Wanted reports whether a frame committed now would reach a subscriber. A
	// stream for which it said no forgets its last frame, so that who comes
	// later does not get an old one.
	Wanted() bool
}

// Wanted asks w. A writer that does not know wants every frame.
func Wanted(w Writer) bool {
	d, ok := w.(Demander)
	return !ok || d.Wanted()
}
