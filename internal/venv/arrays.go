// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package venv

// Arrays has NumPy alone.
var Arrays = Env{Name: "arrays", Pins: []string{"numpy==2.2.6"}, Imports: "import numpy"}
