// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generator defines what a generator is: it turns the spec of a component into Kubernetes objects.
//
// A [Generator] gets the namespace and name of the component's dependents and the parameters (usually the spec), and
// returns the objects that should exist. The ...FromContext functions return more from the context: the component's
// revision, a client for the target cluster and so on. [NewContext] makes such a context for programs that call
// generators themselves.
//
// Package manifests has transformers and templates, and the packages below it have generators for charts and
// kustomizations, with the libraries that these need. This package needs none of them, and neither does an operator
// whose objects are written in Go.
//
// # Purity
//
// Generating may be expensive. So the result of a generator that implements [Pure] is used again until something that
// it depends on changes. The result of a run that read from a cluster, other than by [DiscoveryFromContext], is not
// used again. Taking a client from the context counts as reading; [MarkClusterRead] reports other ways.
package generator
