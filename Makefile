LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0

VERSION ?= $(shell git describe --tags --always --dirty)

.PHONY: build release test test-deep race lint docs-outputs bench instructions instructions-record profile figures fidelity ci docs

build: ; go build -o xoff ./cmd/xoff && go build -o xoff-hub ./cmd/xoff-hub
# Build the archives of a release in dist, with completions, man pages and checksums.
release: ; go run ./internal/devtool/release -version $(VERSION)
test: ; go test ./...
# Run the long tests (TestDeep...) of all packages, or of some: make test-deep PACKAGES=./sim
PACKAGES ?= ./...
test-deep: ; go test -tags deep -run Deep -count=1 -timeout 60m $(PACKAGES)
# Run the race detector on code with goroutines, without its long sequential tests (-short).
race:
	go test -race -short -timeout 30m ./sim ./internal/live/... ./internal/batch/sweep ./internal/batch/remote ./cmd/xoff-hub/...
	go test -race -run 'Scripts/^(interrupt|live|nats)$$' ./cli/process
	go test -race -short -run Failures ./internal/analysis/check
# examples/own-scheme is a separate module.
lint: ; $(LINT) run ./... && cd examples/own-scheme && go vet .
bench: ; go run ./cmd/xoff bench
instructions: ; .ci/instructions
instructions-record: ; .ci/instructions record
profile: ; go test -trimpath ./internal/devtool/bench -run ^$$ -bench Fabric -benchtime 8x -o /dev/null -cpuprofile cmd/xoff/raw.pgo && go run ./internal/devtool/pgo < cmd/xoff/raw.pgo > cmd/xoff/default.pgo && rm cmd/xoff/raw.pgo
figures: ; .ci/figures docs/img
fidelity: ; go run ./cmd/xoff fidelity --render docs/fidelity.md && go run ./cmd/xoff fidelity sonic --quiet --render docs/fidelity-sonic.md
# Write the pages about schemes and rules, and check that commands on pages parse.
docs: ; go test ./scenario -run DocsReference -rewrite && go test ./docs/tests -run 'SonicTables|CommandsParse' -rewrite
# Run all commands that pages show and write their output; takes some minutes.
docs-outputs: docs ; go test -tags deep ./docs/tests -run 'DeepPages|DeepTutorial' -rewrite
ci: ; .ci/run
