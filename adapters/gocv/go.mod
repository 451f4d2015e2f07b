// A module of its own, so that camd needs neither OpenCV nor a C++ compiler.
module github.com/seed-3c7e7623/camd/adapters/gocv

go 1.26.0

require (
	github.com/jezek/xgb v1.1.1
	github.com/seed-3c7e7623/camd v0.0.0-00010101000000-000000000000
	github.com/spf13/cobra v1.10.2
	go.uber.org/goleak v1.3.0
	gocv.io/x/gocv v0.31.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.6 // indirect
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	github.com/titanous/json5 v1.0.0 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
)

replace github.com/seed-3c7e7623/camd => ../..
