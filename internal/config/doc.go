// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package config turns a YAML file, the environment and the flags of camd into
// the settings of the daemon, each with what set it. A flag wins over the
// environment, that over the file, that over what is built in. Cameras come out
// as the same [capture.Spec] that --camera makes, so that a file can say what
// the command line can, and no more.
//
// Everything is strict: a key that nobody knows, a value that makes no sense
// and a key given twice are problems with a place. All of them are reported at
// once.
package config
