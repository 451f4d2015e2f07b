// A module of its own: cu needs NVIDIA's header and driver to build and to start.
module github.com/seed-3c7e7623/camd/adapters/cu

go 1.26.0

require (
	github.com/seed-3c7e7623/camd v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
	gorgonia.org/cu v0.9.6
)

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/google/uuid v1.1.1 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/titanous/json5 v1.0.0 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/seed-3c7e7623/camd => ../..
