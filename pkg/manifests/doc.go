// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests defines how the spec of a component becomes Kubernetes objects.
//
// A [Generator] is given the target namespace and name and the parameters (usually the spec) of a component
// and returns the objects that shall exist. [NewGenerator] adds transformers in front of and behind it.
// Ready ones set policies by rules, substitute variables, apply patches of Kustomize, and set default labels and annotations.
// What else a generator or a transformer may want to know (the component's revision, a client for the target cluster, ...)
// is found in the context, through the ...FromContext functions.
//
// # Purity
//
// Generating may be expensive, so its result is used again as long as nothing it depends on has changed, if
// the generator allows that by implementing [Pure]. Whether a certain run has in fact looked into a cluster
// is recorded by [TrackClusterReads]; the result of such a run is not used again.
package manifests
