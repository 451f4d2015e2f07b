// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package guest holds the tests that run inside the virtual machine of e2e/vm.
// Built with the tag vmguest, its test binary is the machine's first process.
package guest
