// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generator defines what a generator is: it turns the spec of a component into Kubernetes objects.
//
// A [Generator] gets the namespace and name of the component's dependents and the parameters (usually the spec), and returns the objects
// that shall exist. What else it may want to know (the component's revision, a client for the target cluster, ...) is in the
// context, and the ...FromContext functions get it from there. [NewContext] makes such a context for programs that call generators themselves.
//
// Package manifests has transformers and templates, and the packages below it generators for charts and kustomizations. They bring the
// libraries that they need; this package does not, so an operator whose objects are written in Go carries none of them.
//
// # Purity
//
// Generating may be expensive, so its result is used again as long as nothing it depends on has changed, if
// the generator allows that by implementing [Pure]. The result of a run that looked into a cluster, other than by
// [DiscoveryFromContext], is not used again. Taking a client from the context counts as a look; [MarkClusterRead] reports others.
package generator
