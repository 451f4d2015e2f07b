// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package lint holds the house rules that no general linter knows: which
// package may import which, and what source files must and must not contain.
// Its tests apply them to the whole module. Nothing imports it.
package lint
