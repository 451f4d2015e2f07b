// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

// Spec is a camera as the user asked for it, from the command line or a file:
//
//	NAME=KIND[:TARGET][,WxH@R][,key=value...]
//
// In TARGET a comma or a backslash is written with a backslash before it.
type Spec struct {
	Name    string            // [a-z0-9_-]+, also the first part of stream names
	Kind    string            // "pattern", "replay", "v4l2" ...
	Target  string            // device, file or URL; may be empty
	Width   int               // pixels; 0 = the source's choice
	Height  int               // pixels; 0 = the source's choice
	Rate    float64           // frames per second; 0 = the source's choice
	Options map[string]string // the rest, by key
}
