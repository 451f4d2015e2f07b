// A module of its own, so that camd needs neither OpenCV nor a C++ compiler.
module github.com/seed-3c7e7623/camd/adapters/gocv

go 1.26.0

require (
	github.com/seed-3c7e7623/camd v0.0.0-00010101000000-000000000000
	go.uber.org/goleak v1.3.0
	gocv.io/x/gocv v0.31.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/titanous/json5 v1.0.0 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
)

replace github.com/seed-3c7e7623/camd => ../..
