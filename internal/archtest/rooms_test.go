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
	primitives          layer = iota // what knows nothing of Kubernetes
	vocabulary                       // words and single ideas, without a cluster in sight
	foundations                      // one cluster: its client, its status, a sandbox to have one
	attachments                      // what objects bring along
	services                         // what the engine needs around it
	contracts                        // what generators and operators are, and what they may ask for
	engineVocabulary                 // the engine, from here on: kinds, marks, policies and results as values
	desiredState                     // what is to be, and how the API server answers to it
	inventoryRules                   // what the next inventory lists
	decisions                        // what is to be done about one object
	reads                            // requests that read dependents
	writes                           // requests that change dependents, and what would be lost by these
	callState                        // what one call works with
	operations                       // what one call does
	engine                           // from objects to a cluster, from parameters to objects
	buildingBlocks                   // parts of the component reconciler and of releases that stand alone
	componentState                   // how the steps of a pass end, and what is generated
	componentRecords                 // what components declare, what they record of their dependents, and when they are reconciled
	deletionHooks                    // hooks of components that are deleted
	destinations                     // in which clusters dependents are, and where they go
	authorAPI                        // what an operator is written with
	readyMade                        // kinds of components that come with the runtime
	displayModel                     // dependents as all commands show them
	clmBlocks                        // what the use cases of the command line are put together from
	releaseRules                     // rules about releases that need no cluster
	clmAccess                        // one cluster, and the releases and objects in it
	releaseRunner                    // what all operations on releases do alike
	releaseViews                     // how a release stands
	releaseOperations                // what is done with the manifests of one release
	ownershipOperations              // what is done with dependents that exist
	diagnosis                        // what is wrong with releases
	commands                         // programs, and what they are made of
	examples                         // programs as an author of operators would write them
	tests                            // for test files only
	kits                             // what authors of operators test with
	snippets                         // code on the pages of the documentation
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
	{path: "internal/concurrent", layer: primitives},
	{path: "internal/texts", layer: primitives},

	{path: "pkg/types", layer: vocabulary},
	{path: "pkg/resources/feature", layer: vocabulary},
	{path: "pkg/resources/selectors", layer: vocabulary},
	{path: "internal/apiserver", layer: vocabulary},
	{path: "internal/digest", layer: vocabulary},
	{path: "internal/expressions", layer: vocabulary},
	{path: "internal/fieldset", layer: vocabulary},
	{path: "internal/finalizers", layer: vocabulary},
	{path: "internal/manifest", layer: vocabulary},
	{path: "internal/redact", layer: vocabulary},
	{path: "internal/requests", layer: vocabulary},
	{path: "clm/internal/listwatch", layer: vocabulary},
	{path: "clm/internal/terminal", layer: vocabulary},

	{path: "pkg/cluster", layer: foundations},
	{path: "pkg/sandbox/...", layer: foundations},
	{path: "pkg/status", layer: foundations},
	{path: "pkg/resources/concepts", layer: foundations},
	{path: "pkg/resources/editors", layer: foundations},

	{path: "pkg/behaviors", layer: attachments},
	{path: "pkg/resources/internal/...", layer: attachments},
	{path: "internal/templating", layer: attachments},

	{path: "pkg/inventory", layer: services},
	{path: "pkg/probes", layer: services},
	{path: "internal/annotations", layer: services},
	{path: "internal/clients", layer: services},
	{path: "internal/events", layer: services},
	{path: "internal/generating", layer: services},
	{path: "internal/helm", layer: services},
	{path: "internal/helm/linter", layer: contracts},
	{path: "internal/helm/remote", layer: contracts},
	{path: "internal/judges", layer: services},
	{path: "internal/kustomize", layer: services},
	{path: "internal/metrics", layer: services},
	{path: "internal/observe", layer: services},
	{path: "internal/references", layer: services},
	{path: "internal/reports", layer: services},
	{path: "internal/rights", layer: services},
	{path: "internal/shards", layer: services},

	{path: "internal/chunks", layer: contracts},
	{path: "pkg/generator", layer: contracts},
	{path: "internal/gitops", layer: contracts},
	{path: "pkg/operator", layer: contracts},
	{path: "pkg/resources/generic", layer: contracts},

	{path: "pkg/reconciler/internal/kinds", layer: engineVocabulary},
	{path: "pkg/reconciler/internal/policies", layer: engineVocabulary},
	{path: "pkg/reconciler/internal/report", layer: engineVocabulary},
	{path: "pkg/reconciler/internal/desired", layer: desiredState},
	{path: "pkg/reconciler/internal/bookkeeping", layer: inventoryRules},
	{path: "pkg/reconciler/internal/decisions", layer: decisions},
	{path: "pkg/reconciler/internal/memory", layer: decisions},
	{path: "pkg/reconciler/internal/server", layer: reads},
	{path: "pkg/reconciler/internal/guard", layer: writes},
	{path: "pkg/reconciler/internal/executor", layer: writes},
	{path: "pkg/reconciler/internal/calls", layer: callState},
	{path: "pkg/reconciler/internal/waves", layer: operations},

	{path: "pkg/manifests", layer: engine},
	{path: "pkg/reconciler", layer: engine},

	{path: "internal/deletionhooks", layer: buildingBlocks},

	{path: "pkg/component/internal/resource", layer: buildingBlocks},
	{path: "pkg/component/internal/warmup", layer: buildingBlocks},
	{path: "pkg/component/internal/outcomes", layer: componentState},
	{path: "pkg/component/internal/generation", layer: componentState},
	{path: "pkg/component/internal/declared", layer: componentRecords},
	{path: "pkg/component/internal/queue", layer: componentRecords},
	{path: "pkg/component/internal/records", layer: componentRecords},
	{path: "pkg/component/internal/hooks", layer: deletionHooks},
	{path: "pkg/component/internal/targets", layer: destinations},

	{path: "pkg/component", layer: authorAPI},
	{path: "pkg/manifests/helm", layer: authorAPI},
	{path: "pkg/manifests/kustomize", layer: authorAPI},
	{path: "pkg/resources/...", layer: authorAPI},

	{path: "pkg/objectset/...", layer: readyMade},
	{path: "pkg/sync", layer: readyMade},

	{path: "clm/internal/dependents", layer: displayModel},
	{path: "clm/internal/live", layer: clmBlocks},
	{path: "clm/internal/progress", layer: clmBlocks},
	{path: "clm/internal/helmreleases", layer: clmBlocks},
	{path: "clm/internal/releases", layer: clmBlocks},
	{path: "clm/internal/sources", layer: clmBlocks},
	{path: "clm/internal/failures", layer: releaseRules},
	{path: "clm/internal/connection", layer: clmAccess},
	{path: "clm/internal/runner", layer: releaseRunner},
	{path: "clm/internal/views", layer: releaseViews},
	{path: "clm/internal/operation", layer: ownershipOperations},
	{path: "clm/internal/doctor", layer: diagnosis},

	{path: "bench/...", layer: commands},
	{path: "clm/...", layer: commands},
	{path: "scaffold/...", layer: commands},
	{path: "internal/mutants", layer: commands},

	{path: "examples/...", layer: examples},

	{path: "internal/archtest", layer: tests},
	{path: "internal/testenv", layer: tests},
	{path: "pkg/manifests/generatortest", layer: tests},
	{path: "pkg/operatortest", layer: kits},
	{path: "examples/snippets/...", layer: snippets},
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
	if from.layer >= tests {
		return to.layer < commands || to.layer >= tests && to.layer < from.layer
	}
	return to.layer < from.layer
}

// mayImportInTest allows tests two things more: the test kit, and a neighbour, so that a test can put together
// what an author of operators puts together.
func mayImportInTest(from, to room) bool {
	return to.layer >= tests || to.layer <= from.layer
}
