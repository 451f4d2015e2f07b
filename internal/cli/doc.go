// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package cli holds the command tables of camd and camsub and what they share:
// exit codes, usage errors, loggers, version. Commands parse flags, call other
// packages and print; what they do lives elsewhere.
//
// stdout carries results only. Notes, progress and errors go to stderr.
package cli
