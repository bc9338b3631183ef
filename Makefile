LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0

.PHONY: build test test-deep race lint bench profile figures fidelity ci docs

build: ; go build -o xoff ./cmd/xoff
test: ; go test ./...
test-deep: ; go test -tags deep -run Deep -timeout 30m ./...
race: ; go test -race -short ./sim/... ./internal/check/... ./cli/... ./internal/sweep/...
lint: ; $(LINT) run ./...
bench: ; go run ./cmd/xoff bench
profile: ; go test -trimpath ./internal/bench -run ^$$ -bench Fabric -benchtime 8x -o /dev/null -cpuprofile cmd/xoff/raw.pgo && go run ./internal/pgo < cmd/xoff/raw.pgo > cmd/xoff/default.pgo && rm cmd/xoff/raw.pgo
figures: ; .ci/figures docs/img
fidelity: ; go run ./cmd/xoff fidelity --render docs/fidelity.md
docs: ; go test ./scenario -run DocsReference -rewrite && go test ./cli -run DocsOutputs -rewrite
ci: ; .ci/run
