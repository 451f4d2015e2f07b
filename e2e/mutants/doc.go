// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package mutants keeps the list of what must not be taken out of the path by
// memory of a GPU: each entry removes one wait, mark, lease, check or release
// from the source, and names the test that fails without it. docs/mutants.md is
// made from the list.
//
// The list itself is checked by every run: each text is in its file exactly
// once, each test exists, and the page is up to date. A few entries are tried by
// every run too; all of them are with CAMD_MUTANTS=1, which takes minutes.
// CAMD_MUTANTS=TEXT tries those whose file or name has the text in it.
package mutants
