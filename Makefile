# SPDX-FileCopyrightText: The component-operator-runtime authors
# SPDX-License-Identifier: Apache-2.0

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Everything is built like a release: without cgo, and independently of the folder. So all share what has been compiled.
export CGO_ENABLED ?= 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath)

# Tools are pinned in a module of their own; the go command builds them on first use and caches them.
TOOL := go tool -modfile=internal/tools/go.mod
CONTROLLER_GEN := $(TOOL) controller-gen
GOLANGCI_LINT := $(TOOL) golangci-lint

# Where types live that need generated code; directories that do not exist yet are left out.
DEEPCOPY_PATHS := $(foreach dir,pkg/component pkg/inventory pkg/manifests pkg/objectset pkg/probes examples,$(if $(wildcard $(dir)),paths=./$(dir)/...))

# A module of its own, because of what SOPS depends on. Its go.work leads to the root module, which its tests need; a
# workspace excludes -modfile, so its linter is built here and run there.
SOPS := pkg/manifests/kustomize/sops
LINT_SOPS = linter=$$($(TOOL) -n golangci-lint) && cd $(SOPS) && $$linter

# TESTFLAGS are handed to go test, PACKAGES are what it tests.
TESTFLAGS ?=
PACKAGES ?= ./...

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN { FS = ":.*## "; printf "Usage: make <target>\n" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z-]*:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Develop

.PHONY: generate
generate: ## Write generated code, CRDs and the reference of clm.
	$(CONTROLLER_GEN) object:headerFile=.ci/header.txt $(DEEPCOPY_PATHS)
	$(CONTROLLER_GEN) crd paths=./examples/parcel-operator/api/... output:crd:artifacts:config=examples/parcel-operator/crds
	$(CONTROLLER_GEN) crd paths=./examples/hello-operator/... output:crd:artifacts:config=examples/hello-operator/crds
	$(CONTROLLER_GEN) crd paths=./examples/bookshop-operator/... output:crd:artifacts:config=examples/bookshop-operator/crds
	$(CONTROLLER_GEN) crd paths=./examples/tiers-operator/... output:crd:artifacts:config=examples/tiers-operator/crds
	$(CONTROLLER_GEN) crd paths=./examples/kubebuilder-operator/... output:crd:artifacts:config=examples/kubebuilder-operator/config/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./examples/kubebuilder-operator/... output:rbac:dir=examples/kubebuilder-operator/config/rbac
	$(CONTROLLER_GEN) crd paths=./bench/... output:crd:artifacts:config=bench/crds
	$(CONTROLLER_GEN) crd paths=./pkg/component/testdata/widgets output:crd:artifacts:config=pkg/component/testdata/crds
	$(CONTROLLER_GEN) crd paths=./pkg/objectset/v1alpha1 output:crd:artifacts:config=pkg/objectset/crds
	cp pkg/objectset/crds/*.yaml examples/objectset-operator/chart/files/crds
	go run ./pkg/resources/internal/kinds pkg/resources
	cd internal/helm/parity && go mod tidy
	go test ./clm/cmd -run TestReferencePages -golden.update
	cp internal/tools/go.sum scaffold/internal/project/templates/common/tools/go.sum.tmpl
	sed -e '1,2d' -e 's#^module .*#module tools#' internal/tools/go.mod > scaffold/internal/project/templates/common/tools/go.mod.tmpl

.PHONY: fmt
fmt: ## Format the code.
	$(GOLANGCI_LINT) fmt
	cd internal/helm/parity && go tool -modfile=../../tools/go.mod golangci-lint fmt
	$(LINT_SOPS) fmt

.PHONY: lint
lint: ## Run the linters.
	$(GOLANGCI_LINT) run
	cd internal/helm/parity && go tool -modfile=../../tools/go.mod golangci-lint run
	$(LINT_SOPS) run
	cd $(SOPS) && GOWORK=off go build ./...
	cd website && go tool -modfile=../internal/tools/go.mod golangci-lint run

.PHONY: verify
verify: ## Regenerate, format and lint; fail if that changes a file.
	.ci/unchanged $(MAKE) --no-print-directory generate fmt
	$(MAKE) --no-print-directory lint
	go test -count=1 ./internal/archtest

.PHONY: clean
clean: ## Remove what was built in this folder.
	rm -rf bin

##@ Run

# The race detector makes tests take four times the CPU, so "make test" uses it only for the caches of the engine and the
# live views of clm, and "make race" for all packages.
RACE := ./internal/display ./clm/internal/live ./internal/concurrent ./internal/observe ./internal/shards ./pkg/sync
# Symbols for debuggers take a third to a half of the time of linking.
TEST := go test -shuffle=on -p 2 -timeout 60m -ldflags=-s
# One sandbox serves all packages: each test works in namespaces of its own. The variable's own name keeps tests
# from ever touching the cluster that a developer's KUBECONFIG points to.
SANDBOX = bin/clm sandbox run -- sh -c 'export TEST_SANDBOX_KUBECONFIG="$$KUBECONFIG" TEST_CLM="$(CURDIR)/bin/clm"; $(1)'

.PHONY: test
test: clm ## Run all tests in a sandbox (PACKAGES=./pkg/x/... TESTFLAGS=-run=Name to choose).
ifeq ($(PACKAGES),./...)
	$(call SANDBOX,$(TEST) -parallel 4 $$(go list ./... | grep -vxF "$$(go list $(RACE))") $(TESTFLAGS) && CGO_ENABLED=1 exec $(TEST) -race $(RACE) $(TESTFLAGS))
	$(MAKE) --no-print-directory parity sops
else
	$(call SANDBOX,exec $(TEST) -parallel 4 $(PACKAGES) $(TESTFLAGS))
endif

.PHONY: race
race: clm ## Run tests as above, with the race detector.
	$(call SANDBOX,CGO_ENABLED=1 exec $(TEST) -race $(PACKAGES) $(TESTFLAGS))

# Two of the variants are part of make test.
.PHONY: test-scaffold
test-scaffold: clm ## Make a project for each pair of options of scaffold; lint and test them.
	$(call SANDBOX,TEST_SCAFFOLD_ALL=1 exec $(TEST) -run=TestProjects -v ./scaffold/internal/project $(TESTFLAGS))

# The life is that of a component whose operator has only the rights of its chart.
.PHONY: test-pages
test-pages: clm ## Follow the pages for newcomers, and the life of a component of a new operator.
	$(call SANDBOX,TEST_SCAFFOLD_ALL=1 exec $(TEST) -run="TestLife|TestPage$$|TestSteps" -v ./scaffold ./scaffold/internal/project $(TESTFLAGS))

# Plans each pass of the engine's tests, and compares it with its plan.
.PHONY: test-plans
test-plans: clm ## Run the tests of the engine; plan each pass.
	$(call SANDBOX,TEST_PLANS=1 exec $(TEST) ./pkg/reconciler $(TESTFLAGS))

.PHONY: unit
unit: ## Run the tests that need no Kubernetes.
	go test -short -shuffle=on $(PACKAGES) $(TESTFLAGS)

# A module of its own, because of what Helm's own command depends on; it follows the requirements of the runtime.
.PHONY: parity
parity: ## Compare charts as they are rendered with what Helm's own command renders.
	cd internal/helm/parity && go test -mod=mod -shuffle=on -p 2 -timeout 30m ./... $(TESTFLAGS)

.PHONY: sops
sops: ## Test the decryptor for files that are encrypted by SOPS.
	cd $(SOPS) && go test -shuffle=on -p 2 ./... $(TESTFLAGS)

# MUTANTFLAGS choose; see go run ./internal/mutants -h. It takes long: each mutant is compiled.
MUTANTFLAGS ?=

.PHONY: mutants
mutants: clm ## Break the code in known ways and see whether tests notice (MUTANTFLAGS='-run=Name').
	bin/clm sandbox run -- sh -c 'TEST_SANDBOX_KUBECONFIG="$$KUBECONFIG" exec go run ./internal/mutants "$$@"' mutants $(MUTANTFLAGS)

.PHONY: demo
demo: ## Play the demo: an operator around a Helm chart, from creation to deletion.
	go build -o bin/demo ./examples/demo
	bin/demo

# BENCHFLAGS are handed to the benchmark; see bin/bench -h.
BENCHFLAGS ?=

.PHONY: bench
bench: ## Measure in a sandbox and print a table (SHORT=1: smaller cases).
	go build -o bin/bench ./bench
	go build -o bin/clm ./clm
	cd internal/helm/parity && go build -o ../../../bin/helm3 helm.sh/helm/v3/cmd/helm
	cd internal/helm/parity && go build -o ../../../bin/helm4 helm.sh/helm/v4/cmd/helm
	bin/bench $(if $(SHORT),-short) $(BENCHFLAGS)

.PHONY: sandbox
sandbox: clm ## Start a Kubernetes in the background and print its kubeconfig path (end it with: bin/clm sandbox down).
	bin/clm sandbox up

##@ Build

.PHONY: clm
clm: ## Build the command line into bin/clm.
	go build -o bin/clm ./clm

.PHONY: scaffold
scaffold: ## Build the scaffolder into bin/scaffold.
	go build -o bin/scaffold ./scaffold

# Systems for which clm is released and which the tests do not run on. It takes minutes once, and seconds after that.
CROSS ?= windows/amd64 darwin/arm64

.PHONY: cross
cross: ## See whether clm and the packages build for other systems.
	$(foreach platform,$(CROSS),GOOS=$(word 1,$(subst /, ,$(platform))) GOARCH=$(word 2,$(subst /, ,$(platform))) \
		go build ./clm/... ./pkg/... ./examples/... &&) true

.PHONY: release
release: ## Build a release of clm and scaffold into dist/ (VERSION=v1.2.3 to insist on a version).
	.ci/release

# VERSION and VERSIONS are shown by the site; see .ci/website, which builds those of all versions.
WEBSITE ?= $(CURDIR)/dist/website
VERSIONS ?= false
HUGOFLAGS ?=
HUGO = HUGO_PARAMS_VERSION=$(or $(VERSION),main) HUGO_PARAMS_VERSIONS=$(VERSIONS) go tool hugo

.PHONY: website
website: ## Build the website into dist/website.
	cd website && go run ./generate && $(HUGO) --quiet --gc --minify --destination $(WEBSITE) $(HUGOFLAGS)

.PHONY: website-serve
website-serve: ## Serve the website, and follow changes of its pages.
	cd website && go run ./generate && $(HUGO) server $(HUGOFLAGS)

# Six at a time, because the pages mostly wait for a cluster.
.PHONY: test-website
test-website: ## Look at the website in a browser.
	.ci/chromium
	cd website && go test -timeout 40m -parallel 6 $(TESTFLAGS) ./...

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities (needs https://vuln.go.dev).
	go tool -modfile=internal/release/go.mod govulncheck ./...
