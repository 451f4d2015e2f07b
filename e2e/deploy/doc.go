// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy holds the files of deploy/zenoh to what they say: real routers
// read them, and sessions of ours meet through these.
package deploy
