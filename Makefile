# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0

.DEFAULT_GOAL := help
.PHONY: help setup build test test-vm demo bench lint fmt fuzz soak clean check-go

VERSION    = $(shell sh scripts/version.sh)
GO_LDFLAGS = -s -w -X github.com/seed-3c7e7623/camd/internal/cli.buildVersion=$(VERSION)
FUZZTIME   ?= 10s
CLIP       ?=
CUDA       ?=

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: check-go ## install what tests and demo need (as root), or say the command that does
	@sh scripts/setup.sh

build: check-go ## build bin/camd, bin/camsub and bin/camsub-plot (no C compiler needed)
	CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '$(GO_LDFLAGS)' -o bin/ ./cmd/camd ./cmd/camsub
	CGO_ENABLED=0 go -C benchmarks/plot build -buildvcs=false -trimpath -ldflags '-s -w' -o ../../bin/camsub-plot .

test: check-go ## set up, then run every check; each stage has a time limit
	@bash scripts/test.sh

test-vm: check-go ## only the tests on real camera drivers, in a virtual machine
	@bash scripts/test.sh vm

demo: export CLIP := $(CLIP)
demo: export CUDA := $(CUDA)
demo: ## first camera or the pattern and subscribers; CLIP=walk.avi plays a file, CUDA=sim plays a GPU
	@sh scripts/demo.sh check
	@$(MAKE) --no-print-directory build
	@sh scripts/demo.sh

bench: build ## measure the hand-over beside its floor; writes CSV under results/
	@mkdir -p results
	go run ./benchmarks/handover -o results/

lint: check-go ## only the static checks of make test
	@bash scripts/test.sh fmt vet staticcheck house

fmt: check-go ## rewrite the Go files in the house's format
	@go tool -modfile=tools/go.mod gofumpt -w $$(sh scripts/gofiles.sh)

fuzz: check-go ## run each fuzz target for FUZZTIME (default 10s)
	@bash scripts/fuzz.sh $(FUZZTIME)

soak: build ## the long runs: kills, hostile clients, every interleaving, every mutant (hours)
	CAMD_SOAK=1 go test ./ring/check -count=1 -timeout 1h
	CAMD_MUTANTS=1 go test ./e2e/mutants -count=1 -timeout 2h
	go test ./e2e -run Soak -soak -count=1 -timeout 3h -v

clean: ## remove what the build made
	@[ ! -d .cache ] || chmod -R u+w .cache # module caches are read-only
	rm -rf bin results .cache

check-go:
	@sh scripts/check-go.sh
