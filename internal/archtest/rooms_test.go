// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// A layer is a height in the house. A package imports only packages of lower layers.
type layer int

const (
	primitives   layer = iota // what knows nothing of Kubernetes
	vocabulary                // words and single ideas, without a cluster in sight
	foundations               // one cluster: its client, its status, a sandbox to have one
	services                  // what the engine needs around it
	contracts                 // what generators are, and what they may ask for
	words                     // the engine, from here on: what it knows without looking at anything
	wishes                    // what is to be
	records                   // what is to be recorded of it
	decisions                 // what is to be done about one object
	looking                   // what is known about dependents
	changing                  // the requests that change them, and what would be lost by these
	calls                     // what one call works with
	acting                    // what one call does
	engine                    // from objects to a cluster, from parameters to objects
	procedures                // what components and releases do with the engine alike
	keeping                   // the component as a resource, and what is kept beside it
	recording                 // what components record of their dependents
	hooked                    // what components record of deletion hooks
	destinations              // where dependents are, and where they go
	authoring                 // what an operator is written with
	model                     // what the command line shows of dependents
	parts                     // what the command line is put together from
	terms                     // what operations on releases speak of
	linking                   // one cluster, and the releases in it
	running                   // what all operations on releases do alike
	viewing                   // how a release stands
	operating                 // what is done with one release
	relating                  // what is done with what was applied
	examining                 // what is wrong with releases
	commands                  // programs, and what they are made of
	examples                  // programs as an author of operators would write them
	tests                     // for test files only
)

// A room is a package, or with the suffix "/..." a package and all below it. Packages of one room may import one
// another; packages of different rooms may only if the imported one lies on a lower layer.
type room struct {
	path  string
	layer layer
}

// rooms is the table that a new package extends. Of several matching rooms the one with the longest path counts.
var rooms = []room{
	{path: "internal/clocks", layer: primitives},
	{path: "internal/ellipsis", layer: primitives},
	{path: "internal/parallel", layer: primitives},

	{path: "pkg/types", layer: vocabulary},
	{path: "internal/catalog", layer: vocabulary},
	{path: "internal/conflicts", layer: vocabulary},
	{path: "internal/digest", layer: vocabulary},
	{path: "internal/documents", layer: vocabulary},
	{path: "internal/fieldset", layer: vocabulary},
	{path: "internal/finalizers", layer: vocabulary},
	{path: "internal/flow", layer: vocabulary},
	{path: "internal/guarded", layer: vocabulary},
	{path: "internal/lists", layer: vocabulary},
	{path: "internal/redact", layer: vocabulary},
	{path: "internal/requests", layer: vocabulary},
	{path: "internal/values", layer: vocabulary},
	{path: "clm/internal/gogc", layer: vocabulary},
	{path: "clm/internal/listwatch", layer: vocabulary},
	{path: "clm/internal/terminal", layer: vocabulary},

	{path: "pkg/cluster", layer: foundations},
	{path: "pkg/sandbox/...", layer: foundations},
	{path: "pkg/status", layer: foundations},

	{path: "pkg/inventory", layer: services},
	{path: "internal/annotations", layer: services},
	{path: "internal/chunks", layer: services},
	{path: "internal/clients", layer: services},
	{path: "internal/events", layer: services},
	{path: "internal/generating", layer: services},
	{path: "internal/helm", layer: services},
	{path: "internal/helm/remote", layer: services},
	{path: "internal/kustomize", layer: services},
	{path: "internal/metrics", layer: services},
	{path: "internal/observe", layer: services},
	{path: "internal/references", layer: services},
	{path: "internal/shards", layer: services},
	{path: "internal/templating", layer: services},

	{path: "pkg/generator", layer: contracts},

	{path: "pkg/reconciler/internal/contents", layer: words},
	{path: "pkg/reconciler/internal/kinds", layer: words},
	{path: "pkg/reconciler/internal/marks", layer: words},
	{path: "pkg/reconciler/internal/policies", layer: words},
	{path: "pkg/reconciler/internal/report", layer: words},
	{path: "pkg/reconciler/internal/answers", layer: wishes},
	{path: "pkg/reconciler/internal/targets", layer: wishes},
	{path: "pkg/reconciler/internal/records", layer: records},
	{path: "pkg/reconciler/internal/decisions", layer: decisions},
	{path: "pkg/reconciler/internal/memory", layer: decisions},
	{path: "pkg/reconciler/internal/server", layer: looking},
	{path: "pkg/reconciler/internal/barriers", layer: changing},
	{path: "pkg/reconciler/internal/executor", layer: changing},
	{path: "pkg/reconciler/internal/losses", layer: changing},
	{path: "pkg/reconciler/internal/calls", layer: calls},
	{path: "pkg/reconciler/internal/plans", layer: acting},
	{path: "pkg/reconciler/internal/rebuild", layer: acting},
	{path: "pkg/reconciler/internal/waves", layer: acting},

	{path: "pkg/manifests", layer: engine},
	{path: "pkg/reconciler", layer: engine},

	{path: "internal/deletionhooks", layer: procedures},
	{path: "internal/inventories", layer: procedures},

	{path: "pkg/component/internal/queue", layer: procedures},
	{path: "pkg/component/internal/specs", layer: procedures},
	{path: "pkg/component/internal/statusdiff", layer: procedures},
	{path: "pkg/component/internal/targets", layer: procedures},
	{path: "pkg/component/internal/texts", layer: procedures},
	{path: "pkg/component/internal/visits", layer: procedures},
	{path: "pkg/component/internal/warmup", layer: procedures},
	{path: "pkg/component/internal/generation", layer: keeping},
	{path: "pkg/component/internal/items", layer: keeping},
	{path: "pkg/component/internal/declared", layer: keeping},
	{path: "pkg/component/internal/resource", layer: keeping},
	{path: "pkg/component/internal/stores", layer: keeping},
	{path: "pkg/component/internal/outcomes", layer: recording},
	{path: "pkg/component/internal/records", layer: recording},
	{path: "pkg/component/internal/hooks", layer: hooked},
	{path: "pkg/component/internal/stays", layer: hooked},
	{path: "pkg/component/internal/destination", layer: destinations},

	{path: "pkg/component", layer: authoring},
	{path: "pkg/manifests/helm", layer: authoring},
	{path: "pkg/manifests/isolated", layer: authoring},
	{path: "pkg/manifests/kustomize", layer: authoring},

	{path: "clm/internal/dependents", layer: model},
	{path: "clm/internal/live", layer: parts},
	{path: "clm/internal/progress", layer: parts},
	{path: "clm/internal/releases", layer: parts},
	{path: "clm/internal/sources", layer: parts},
	{path: "clm/internal/failures", layer: terms},
	{path: "clm/internal/manifest", layer: terms},
	{path: "clm/internal/ownership", layer: terms},
	{path: "clm/internal/connection", layer: linking},
	{path: "clm/internal/selection", layer: linking},
	{path: "clm/internal/runner", layer: running},
	{path: "clm/internal/views", layer: viewing},
	{path: "clm/internal/apply", layer: operating},
	{path: "clm/internal/testrun", layer: operating},
	{path: "clm/internal/deletion", layer: relating},
	{path: "clm/internal/transfer", layer: relating},
	{path: "clm/internal/doctor", layer: examining},

	{path: "pkg/operator", layer: commands},
	{path: "bench/...", layer: commands},
	{path: "clm/...", layer: commands},
	{path: "internal/mutants", layer: commands},
	{path: "internal/sbom", layer: commands},

	{path: "examples/...", layer: examples},

	{path: "internal/archtest", layer: tests},
	{path: "internal/testenv", layer: tests},
	{path: "pkg/manifests/generatortest", layer: tests},
}

// roomOf returns the room of a package, given by its path below the module.
func roomOf(path string) (room, bool) {
	var found room
	for _, candidate := range rooms {
		if candidate.holds(path) && len(candidate.path) > len(found.path) {
			found = candidate
		}
	}
	return found, found.path != ""
}

func (r room) holds(path string) bool {
	root, isTree := strings.CutSuffix(r.path, "/...")
	return path == root || isTree && strings.HasPrefix(path, root+"/")
}

// A pkg is a package of the module with its imports from the module, all as paths below the module.
type pkg struct {
	path string
	// imports are those of the package proper, testImports those of its test files.
	imports, testImports []string
}

// violations returns one sentence for each breach of the rules, sorted.
func violations(pkgs []pkg) []string {
	var found []string
	for _, p := range pkgs {
		from, ok := roomOf(p.path)
		if !ok {
			found = append(found, fmt.Sprintf("%s is missing from the table of rooms", p.path))
			continue
		}
		for _, path := range p.imports {
			if to, ok := roomOf(path); ok && !mayImport(from, to) {
				found = append(found, fmt.Sprintf("%s must not import %s: it is not strictly below", p.path, path))
			}
		}
		for _, path := range p.testImports {
			if to, ok := roomOf(path); ok && !mayImportInTest(from, to) {
				found = append(found, fmt.Sprintf("tests of %s must not import %s: it is above", p.path, path))
			}
		}
	}
	slices.Sort(found)
	return found
}

// mayImport is the rule for code that ships. What is on the layer of tests may import everything except programs,
// and nothing that ships imports it.
func mayImport(from, to room) bool {
	if from == to {
		return true
	}
	if from.layer == tests {
		return to.layer < commands
	}
	return to.layer < from.layer
}

// mayImportInTest allows tests two things more: the test kit, and a neighbour, so that a test can put together
// what an author of operators puts together.
func mayImportInTest(from, to room) bool {
	return to.layer == tests || to.layer <= from.layer
}
