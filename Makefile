# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# What the programs report as their version.
VERSION ?= $(shell git describe --tags --match 'v*' 2>/dev/null || echo v0.1.0-dev)
# Where make run keeps the state.
DATA_DIR ?= .slipway
# How long each fuzz target runs, and what benchmarks are run.
FUZZTIME ?= 10s
BENCH ?= .
# The order of the tests, of all that one make runs: it is printed, and given again it
# repeats that order.
ifndef SEED
SEED := $(shell date +%s%N)
endif
# How often each test runs in one process.
COUNT ?= 1
# How often make test-flakes runs each suite, and which.
ROUNDS ?= 5
SUITES ?= unit integration e2e
GO ?= go
# Tests that say that they may run beside others mostly wait: more of them than there are
# cores, and of unit tests, which start no programs but simulated vCenters, twice as many.
# Informers of what they start panic when somebody has changed an object of theirs.
# make vet looks at tests, and without DWARF a test program is linked with two thirds of the work.
GOTEST ?= KUBE_CACHE_MUTATION_DETECTOR=true $(GO) test -vet=off -ldflags=-w -timeout 40m -parallel=4 -shuffle=$(SEED) -count=$(COUNT)

PROGRAMS := slipway-apiserver slipway-dev virtctl
LDFLAGS := -s -w
VERSION_LDFLAGS := $(LDFLAGS) -X k8s.io/component-base/version.gitVersion=$(VERSION)
# Stamping component-base would turn off the Kubernetes features of the server that
# are newer than our version number.
SERVER_LDFLAGS := $(LDFLAGS) -X github.com/slipway-dev/slipway/cmd/slipway-apiserver/app.version=$(VERSION)
KUBERNETES_VERSION := $(shell sed -n 's|^.*k8s.io/kubernetes \(v[0-9.]*\) // indirect$$|\1|p' hack/tools/go.mod)
KUBERNETES_NUMBERS := $(subst ., ,$(KUBERNETES_VERSION:v%=%))
KUBERNETES_LDFLAGS := $(LDFLAGS) $(foreach p,k8s.io/component-base/version k8s.io/client-go/pkg/version,-X $p.gitVersion=$(KUBERNETES_VERSION) \
	-X $p.gitMajor=$(word 1,$(KUBERNETES_NUMBERS)) -X $p.gitMinor=$(word 2,$(KUBERNETES_NUMBERS)) -X $p.gitTreeState=clean)
KUBERNETES_FLAGS := -ldflags 'k8s.io/kubernetes/cmd/...=$(KUBERNETES_LDFLAGS)'
# What go build is asked for our own programs: the same flags and packages wherever they are
# built, so that none is linked twice.
OWN_FLAGS = -ldflags './cmd/...=$(SERVER_LDFLAGS)' -ldflags './cmd/virtctl=$(VERSION_LDFLAGS)'
OWN = $(OWN_FLAGS) $(PROGRAMS:%=./cmd/%)
# Where make image pushes to, as host/name:tag; nowhere if empty. For which platforms it and
# make release build, for example linux/amd64,linux/arm64; for all if empty.
IMAGE ?=
PLATFORMS ?=
RELEASE = $(GO) run -C hack/release . -version='$(VERSION)' -platforms='$(PLATFORMS)' -push='$(IMAGE)'
# What test-fast tests: the decisions about VMs and Machines. Each package costs the link of a program, two to nine seconds of a
# core; those of pkg/registry, which link the API server, are left out.
FAST := ./pkg/apis/... ./pkg/controller/vm/... ./pkg/controller/group ./pkg/controller/snapshot ./pkg/controller/cluster/machine/... \
	./pkg/hardware ./pkg/instancetype/... ./pkg/priorityqueue ./pkg/provider ./pkg/provider/engine/... ./pkg/provider/placement \
	./pkg/provider/vsphere/configspec
UNIT := ./artifacts/... ./cmd/... ./pkg/... ./test/localcluster/... ./test/vcenter/...

##@ Use

.PHONY: help
help: ## Show the targets.
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: tools build ## Run the whole environment on loopback until Ctrl-C; a second run goes on from the first.
	@exec bin/slipway-dev run '--data-dir=$(DATA_DIR)'

##@ Build

.PHONY: build
build: ## Build our own programs into bin/.
	@$(GO) version >/dev/null 2>&1 || { echo "go is missing: install Go 1.26 or newer (https://go.dev/dl)" >&2; exit 1; }
	@test -x bin/slipway-apiserver || echo "building $(PROGRAMS) into bin/: about 5 minutes the first time, seconds later"
	@mkdir -p bin
	@hack/alone.sh bin $(GO) build -o bin/ $(OWN)
	@for plugin in virt slipway; do ln -sf virtctl bin/kubectl-$$plugin && install -m 755 hack/kubectl_complete.sh bin/kubectl_complete-$$plugin || exit; done

.PHONY: tools
tools: ## Build kube-apiserver, kube-controller-manager, kubectl, etcd and etcdutl into bin/, once, and our own programs with them.
	@hack/alone.sh bin hack/build-tools.sh $(KUBERNETES_FLAGS) $(OWN)

.PHONY: tools-cluster-api
tools-cluster-api: tools ## Build the manager of Cluster API into bin/, once; tests run it.
	@hack/build-cluster-api.sh

.PHONY: python-client
python-client: ## Look for a Python with the kubernetes client, or make one; without one a test is NOT RUN.
	@hack/install-python-client.sh

.PHONY: tools-promql
tools-promql: ## Build the parser of Prometheus's queries into _bin/; tests of dashboards and alerts run it.
	@$(GO) build -C hack/tools-promql -o ../../_bin/ ./selectors

.PHONY: generate
generate: ## Write all generated code anew; needed after a change of the API types.
	@hack/install-protoc.sh
	@hack/update-protobuf.sh
	@hack/update-codegen.sh
	@$(GO) run ./hack/imports-table docs/contributing/imports.md
	@$(GO) run ./hack/reference-table docs/reference/limits.md
	@$(GO) run ./hack/reference-table docs/reference/conditions.md
	@$(GO) run ./hack/reference-table docs/reference/flags.md
	@hack/update-api-docs.sh
	@hack/update-json-schema.sh
	@$(GO) run ./hack/prometheus-rule artifacts/monitoring/alerts.yaml artifacts/monitoring/prometheusrule.yaml

##@ Release

.PHONY: image
image: ## Make the container image of the server for PLATFORMS in dist/, with its SBOMs, and push it to IMAGE if that is given.
	@$(RELEASE) image $(OWN_FLAGS)

ifneq ($(IMAGE),)
# What virtctl install of this release takes when it is given no image.
release: VERSION_LDFLAGS += -X github.com/slipway-dev/slipway/cmd/virtctl/verbs/install.ReleasedImage=$(IMAGE)
endif

.PHONY: release
release: ## Make all that is published in dist/: image, programs for PLATFORMS, manifests that name the image, SBOMs and sums; the image is pushed to IMAGE if that is given.
	@rm -rf dist
	@$(RELEASE) all $(KUBERNETES_FLAGS) $(OWN_FLAGS)

.PHONY: image-twice
image-twice: ## Make the image of what is committed twice, the second time elsewhere and with an empty build cache, and compare the digests.
	@hack/image-twice.sh '$(VERSION)' '$(PLATFORMS)'

.PHONY: docs-site
docs-site: ## Make a site of the documentation, with a search, in .cache/docs-site; needs npm.
	@hack/build-docs-site.sh

##@ Test

.PHONY: test
test: tools build test-unit test-release test-integration test-e2e ## Run all tests.

.PHONY: test-fast
test-fast: ## Run the tests of decisions, which start no program and no simulated vCenter.
	$(GOTEST) -parallel=8 $(FAST)

.PHONY: test-unit
test-unit: ## Run the tests that need no other program.
	$(GOTEST) -parallel=8 $(UNIT)

.PHONY: test-release
test-release: ## Run the tests of what makes images and releases, of the Helm chart by Helm itself, and of overlays by the types of others.
	cd hack/release && $(GOTEST) ./...
	cd hack/tools-chart && $(GOTEST) ./...

.PHONY: test-integration
test-integration: tools ## Run the tests against slipway-apiserver in the test process, and against a second kube-apiserver.
	$(if $(wildcard test/integration),$(GOTEST) ./test/integration/...)

.PHONY: test-schema
test-schema: ## Try every odd value at every place of the schema of every kind by every way of writing, and every odd parameter and body, of which test-integration tries a part.
	$(GO) test -timeout 4h -count=$(COUNT) -v ./test/integration/odd -long

.PHONY: test-odd
test-odd: tools build ## Make a machine of every odd value that the API accepts, change it, and look for what waits without a reason or is done again and again.
	$(GO) test -timeout 4h -count=$(COUNT) -v ./test/odd -long

.PHONY: test-odd-short
test-odd-short: tools build ## Run a part of test-odd.
	$(GOTEST) ./test/odd

.PHONY: test-e2e
test-e2e: tools build python-client ## Run the tests against the whole environment.
	$(GOTEST) ./test/e2e

##@ Nightly

.PHONY: nightly-short
nightly-short: tools build tools-cluster-api tools-promql ## Run the short forms of the nightly suites, and all of test-operations.
	$(GOTEST) -p 1 ./test/operations ./test/pages ./test/chaos ./test/odd ./test/faults ./test/clusterapi ./test/availability

.PHONY: test-operations
test-operations: tools build tools-promql ## Install, start, stop, kill, restore and remove the server, and lose its store.
	$(GOTEST) ./test/operations

.PHONY: test-pages
test-pages: tools build ## Run the commands of the tutorial and of the how-to pages in the local environment.
	$(GOTEST) ./test/pages

.PHONY: test-cluster-api
test-cluster-api: tools build tools-cluster-api ## Let the manager of Cluster API create and delete machines whose infrastructure are our VMs.
	$(GO) test -timeout 1h -count=$(COUNT) -v ./test/clusterapi

.PHONY: test-dashboard
test-dashboard: build tools ## Look at virtctl dashboard with 2,000 VMs in a headless Chromium, which is installed if it is missing, and take the pictures of the documentation.
	@hack/install-chromium.sh
	$(GO) test -timeout 30m -count=$(COUNT) -v ./test/dashboard -long -pictures='$(CURDIR)/docs/pictures'

.PHONY: test-monitoring
test-monitoring: build tools tools-promql ## Let a real Prometheus, which is unpacked into _bin/ if it is missing, read the environment: every query of the dashboards is answered, every alert tried.
	@hack/install-prometheus.sh
	$(GO) test -timeout 10m -count=$(COUNT) -v ./artifacts -run Alert
	$(GO) test -timeout 10m -count=$(COUNT) -v ./test/operations -run TestDashboardsAndAlerts

# CHAOS takes flags of test/chaos, for example CHAOS=-external-etcd.
# What goes wrong, by the names of test/chaos. Nothing means all of them in the long run,
# and in the short one those that are survived every time.
EVENTS ?=

.PHONY: test-chaos
test-chaos: tools build ## Let everything go wrong for 300 VMs and 20 kills of the server, and look for what is lost; SEED repeats it.
	$(GO) test -timeout 2h -count=$(COUNT) -v ./test/chaos -long -seed=$(SEED) -events=$(or $(EVENTS),all) $(CHAOS)

.PHONY: test-chaos-short
test-chaos-short: tools build ## Run a minute of test-chaos.
	$(GOTEST) ./test/chaos -seed=$(SEED) -events=$(EVENTS) $(CHAOS)

# What goes wrong in test-faults, by the names of its table. Nothing means all.
FAULTS ?=

.PHONY: test-faults
test-faults: tools build ## Let each fault meet each operation at each moment, and print the table of docs/contributing/faults.md.
	$(GO) test -timeout 2h -count=$(COUNT) -v ./test/faults -long -faults=$(FAULTS)

.PHONY: test-faults-short
test-faults-short: tools build ## Run a minute of test-faults.
	$(GOTEST) ./test/faults

.PHONY: test-availability
test-availability: build tools ## Let every fault meet three servers and three etcd members, for long, and print how long a client was not served.
	$(GO) test -timeout 1h -count=$(COUNT) -parallel 1 -v ./test/availability -run 'TestServers_|TestStore_' -long

# The revision that test-upgrade begins with: by default the last tag, or without one the commit
# of a hundred before.
OLDER ?= $(shell git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || echo HEAD~100)

.PHONY: test-upgrade
test-upgrade: tools build ## Let the server of the revision OLDER, this one and the older one again serve one store.
	older="$$(hack/build-older.sh '$(OLDER)')" && $(GO) test -timeout 10m -count=$(COUNT) -v ./test/upgrade -older="$$older"

.PHONY: test-race
test-race: ## Run the unit tests with the race detector.
	$(GOTEST) -race $(UNIT)

.PHONY: test-flakes
test-flakes: ## Run each of SUITES for ROUNDS times on busy cores, in another order each time.
	@hack/test-flakes.sh $(ROUNDS) $(SUITES)

.PHONY: test-fuzz
test-fuzz: ## Run every fuzz target for FUZZTIME, and soak the work queue.
	@hack/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run the Go benchmarks that BENCH selects.
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(UNIT)

.PHONY: bench-queue
bench-queue: ## Compare the work queue with its peers.
	$(GO) run -C test/performance/queue .

.PHONY: bench-api
bench-api: tools build ## Compare the cost of requests with that of a custom resource; API takes flags, for example API="-rounds=3".
	$(GO) run ./test/performance/api $(API)

.PHONY: bench-memory
bench-memory: tools build ## Measure what the server holds with 20,000 virtual machines; MEMORY takes flags, for example MEMORY="-machines=5000 -after=1m".
	$(GO) run ./test/performance/memory $(MEMORY)

.PHONY: bench-sizing
bench-sizing: tools build ## Measure what 1,000, 10,000 and 50,000 virtual machines take, about 25 minutes; SIZING takes flags, for example SIZING="-machines=1000".
	$(GO) run ./test/performance/sizing $(SIZING)

.PHONY: bench-system
bench-system: tools build ## Measure the running system; SYSTEM takes flags, for example SYSTEM="-stable=1000 -tries=3".
	$(GO) run ./test/performance/system $(SYSTEM)

.PHONY: bench-quota
bench-quota: tools build ## Measure creates per second with and without a ResourceQuota; QUOTA takes flags, for example QUOTA="-clients=20".
	$(GO) run ./test/performance/quota $(QUOTA)

.PHONY: bench-tenants
bench-tenants: tools build ## Let 3 of 20 tenants be hostile for 20 minutes, and check what the others notice; TENANTS takes flags, for example TENANTS="-duration=1m".
	$(GO) run ./test/performance/tenants $(TENANTS)

.PHONY: bench-machines
bench-machines: tools build ## Measure Machines from their creation to their Nodes; MACHINES takes flags, for example MACHINES="-machines=100 -manager=cluster-api" after hack/build-cluster-api.sh.
	$(GO) run ./test/performance/machines $(MACHINES)

##@ Check

.PHONY: verify
verify: verify-format verify-modules vet lint verify-house verify-generated ## Run all checks that are not tests.

.PHONY: verify-format
verify-format: ## Check the formatting of Go files and the syntax of scripts.
	@hack/verify-format.sh

.PHONY: verify-modules
verify-modules: ## Check that go.mod names what is imported, and nothing else.
	@$(GO) mod tidy -diff

.PHONY: vet
vet: ## Run go vet.
	$(GO) vet ./...

.PHONY: lint
lint: ## Run the pinned linters: staticcheck, configured in staticcheck.conf, and hack/tools-lint/analyzers.
	@$(GO) build -C hack/tools-lint -o ../../_bin/ honnef.co/go/tools/cmd/staticcheck ./analyzers
	@_bin/staticcheck $$($(GO) list ./... | grep -v /pkg/generated/)
	@_bin/analyzers $$($(GO) list ./... | grep -v /pkg/generated/)

.PHONY: verify-house
verify-house: ## Check licence headers, sizes, comments, the import table and that every behaviour has a test.
	$(GOTEST) ./test/house ./test/imports ./test/behaviours

.PHONY: structure
structure: ## Print the largest types, the ways of calls through the files, and the imports that go upward.
	@$(GO) run ./hack/structure

.PHONY: verify-generated
verify-generated: ## Check that the generated code is what the generators write.
	@hack/install-protoc.sh
	@hack/verify-codegen.sh

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what our programs call (govulncheck); it asks VULNDB, by default https://vuln.go.dev, which must be reachable.
	@$(GO) build -C hack/tools-vuln -o ../../_bin/ golang.org/x/vuln/cmd/govulncheck
	_bin/govulncheck $(if $(VULNDB),-db='$(VULNDB)') ./cmd/... ./pkg/...

.PHONY: clean
clean: ## Remove what was built. The state of make run stays; slipway-dev reset removes it.
	rm -rf bin _bin .cache dist
