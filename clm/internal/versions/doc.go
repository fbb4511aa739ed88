// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package versions gives ConfigMaps and Secrets a name for each content, rewrites the references to them, and keeps earlier ones.
//
// # Contract
//
// A rendered ConfigMap or Secret with the annotation versioned: "true" gets a suffix: a hash of its name, data and, for a Secret, type. The hash is that of the
// generators of kustomize; labels, annotations and the namespace are not part of it. In the result, the annotations versioned and kept-versions are gone, and
// the annotation version-of has the name without the suffix. So the result, rendered again, stays as it is.
//
// The references to it in other rendered objects of its namespace, and in cluster-scoped ones, are rewritten by the rules of kustomize for names. These know the
// fields of the kinds of Kubernetes, not those of custom resources. Nothing but names changes.
//
// The result ends with the earlier versions: those objects of the last recorded revision that have the same kind, namespace and version-of, as they were
// recorded, newest first. The record has no numbers of versions: the present version is among the rendered objects, which come first, and the earlier ones follow in the
// order in which they were replaced. With the present one there are at most as many as kept-versions says. A version whose content comes back is only the present one. Objects
// of the last revision whose present version is not rendered any more are not carried over.
//
// The functions are pure: they make no requests, do not change what they are given, and return the same for the same. They are safe for concurrent use.
package versions
