// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package transport

func hugePages([]byte) {}
