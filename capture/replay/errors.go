// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import "github.com/seed-3c7e7623/camd/capture"

// ErrNoFFmpeg: the ffmpeg programs are not installed. It wraps
// [capture.ErrUnsupported].
var ErrNoFFmpeg error = &problem{"ffmpeg not found: install it, for example: apt-get install ffmpeg", capture.ErrUnsupported}

// problem is a condition in words of its own: those of the condition speak of
// cameras and would say the same twice.
type problem struct {
	text string
	kind error
}

func (p *problem) Error() string { return p.text }

// Unwrap returns the condition.
func (p *problem) Unwrap() error { return p.kind }

// noFile is a recording that is not there (yet).
func noFile(path string) error { return &problem{"no such file: " + path, capture.ErrDeviceNotFound} }
