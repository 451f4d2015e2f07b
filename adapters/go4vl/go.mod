// A module of its own, because go4vl needs a C compiler and does not build
// everywhere.
module github.com/seed-3c7e7623/camd/adapters/go4vl

go 1.26.0

require (
	github.com/seed-3c7e7623/camd v0.0.0-00010101000000-000000000000
	github.com/vladimirvivien/go4vl v0.5.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/titanous/json5 v1.0.0 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
)

replace github.com/seed-3c7e7623/camd => ../..
