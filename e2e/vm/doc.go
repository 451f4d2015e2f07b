// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package vm runs tests against real camera drivers in a small virtual machine,
// whatever the host's kernel and rights are: vivid, and uvcvideo with cameras
// that usbcam emulates. The machine is one kernel and one initial file system,
// whose first process is the test binary of e2e/vm/guest; its results come over
// the serial line.
//
// Its test boots that one:
//
//	go test ./e2e/vm -v
//
// Modules under adapters boot test binaries of their own with [Guest]; package
// inside is what their first process does.
package vm
