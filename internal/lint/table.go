// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package lint

// Module is the import path that the rules speak of.
const Module = "github.com/seed-3c7e7623/camd"

// Room is a package, or with "/..." at its end a package and all below it,
// relative to the module.
type Room string

// Rule says which rooms of ours the packages of one room may import. A room
// with "/..." may always import itself.
type Rule struct {
	Room Room
	May  []Room
	// Top rooms may import everything that is not a program; others may not
	// import them, in tests neither.
	Top bool
}

// Table is who may import whom, from the bottom to the top. The most specific
// room that fits a package counts. A package that no room fits must be added
// here, with a thought about where it belongs.
var Table = []Rule{
	{Room: "frame"},
	{Room: "internal/dl"},
	{Room: "internal/linux"},
	{Room: "internal/lint"},
	{Room: "internal/alone"},
	{Room: "internal/proctest"},
	{Room: "internal/venv"},
	{Room: "zenoh/..."},

	{Room: "convert", May: []Room{"frame"}},
	{Room: "calib", May: []Room{"frame"}},
	{Room: "ros2/...", May: []Room{"frame"}},
	{Room: "ring", May: []Room{"frame", "internal/linux"}},
	{Room: "ring/check", May: []Room{"frame", "ring", "internal/linux"}},
	{Room: "negotiate", May: []Room{"frame", "internal/linux"}},

	{Room: "jpeg", May: []Room{"frame", "internal/dl"}},
	{Room: "cudabuf/driver/...", May: []Room{"frame", "internal/dl"}},
	{Room: "cudabuf", May: []Room{"frame", "ring", "cudabuf/driver/..."}},
	{Room: "cudabuf/reason", May: []Room{"frame", "negotiate", "ring", "cudabuf", "cudabuf/driver/...", "internal/dl", "internal/linux"}},
	{Room: "recording", May: []Room{"frame", "ros2/..."}},

	{Room: "capture/...", May: []Room{"frame", "convert", "jpeg", "calib", "recording", "internal/dl", "internal/linux"}},

	{Room: "backend/...", May: []Room{"frame", "negotiate", "ring", "cudabuf", "cudabuf/driver/...", "cudabuf/reason", "zenoh/...", "ros2/...", "convert", "jpeg", "internal/dl", "internal/linux"}},

	{Room: "client", May: []Room{"frame", "negotiate", "ring", "zenoh/...", "ros2/...", "convert", "internal/linux"}},
	{Room: "client/gpu", May: []Room{"frame", "negotiate", "ring", "zenoh/...", "ros2/...", "convert", "internal/linux", "internal/dl", "client", "cudabuf", "cudabuf/driver/...", "cudabuf/reason"}},

	{Room: "internal/config/...", Top: true},
	{Room: "internal/metrics/...", Top: true},
	{Room: "internal/measure/...", Top: true},
	{Room: "internal/daemon/...", Top: true},
	{Room: "internal/bench/...", Top: true},
	{Room: "internal/cli/...", Top: true},
	{Room: "cmd/...", Top: true},
	{Room: "e2e/...", Top: true},
	{Room: "benchmarks/...", Top: true},
	{Room: "clients/...", Top: true}, // tests of clients in other languages, against all of camd

	// Examples show what any program can do: only what others can import.
	{Room: "examples/...", May: []Room{"frame", "negotiate", "convert", "zenoh/...", "ros2/...", "client", "client/gpu"}},
}
