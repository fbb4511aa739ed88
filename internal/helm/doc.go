// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package helm renders Helm charts by means of the Helm SDK, and is the only package that knows the SDK.
//
// A [Chart] is read once, with [Load], and rendered any number of times, concurrently if need be. What a chart
// renders to is what "helm install" would send to the cluster, apart from these differences:
//   - The value of .Release.Name is not restricted to 53 characters.
//   - Objects of the crds folders come first, and are otherwise objects like all others.
//   - Looking up a type that the cluster does not know yields nothing, as looking up an unknown object does.
//   - Objects within a list (kind List, or a typed one) are returned one by one, and those of them that have
//     no annotation of Helm's own inherit those of the list.
//
// What hooks mean is not decided here; see package manifests/helm.
package helm
