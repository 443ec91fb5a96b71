// The pinned linters. A module of its own, so that it is no dependency of Slipway.
module github.com/slipway-dev/slipway/hack/tools-lint

go 1.26.0

tool honnef.co/go/tools/cmd/staticcheck

require (
	github.com/julz/importas v0.2.0
	github.com/nishanths/exhaustive v0.17.1
	github.com/polyfloyd/go-errorlint v1.8.0
	github.com/sivchari/containedctx v1.0.3
	golang.org/x/tools v0.52.0
)

require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	honnef.co/go/tools v0.8.2 // indirect
)
