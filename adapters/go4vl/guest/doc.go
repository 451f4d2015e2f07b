// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package guest holds the tests of package go4vl that run on the driver vivid
// inside the virtual machine of e2e/vm. Built with the tag vmguest, its test
// binary is the machine's first process.
package guest
