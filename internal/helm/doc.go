// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package helm renders Helm charts by means of the Helm SDK, and is the only package that knows the SDK.
//
// A [Chart] is read once, with [Load], and rendered any number of times, concurrently if need be. What a chart
// renders to is what "helm install" would send to the cluster, apart from these differences:
//   - The value of .Release.Name is not restricted to 53 characters.
//   - Objects of the crds folders come first, and are otherwise objects like all others.
//   - What templates yield must not exceed 16 MiB.
//   - Keys that collide because one of them is no text, such as 1 and "1", are refused.
//   - Whole numbers that are given are integers for templates, as with --set; in values files, which includes the chart's
//     own, they are floats, and Helm prints large ones with an exponent.
//   - Looking up a type that the cluster does not know yields nothing, as looking up an unknown object does.
//   - Objects within a list (kind List, or a typed one) are returned one by one, and those of them that have
//     no annotation of Helm's own inherit those of the list.
//
// Helm's engine limits how often a template includes itself, and nothing else. It cannot be interrupted, and writes into
// buffers of its own, so the size of what it yields is checked afterwards. A chart, or a value that a chart renders with
// tpl, may therefore take the process with it, by repeating a text without end or by calling tpl within itself. Charts
// and values of strangers belong into a process that may be killed; see package manifests/isolated.
//
// What hooks mean is not decided here; see package manifests/helm.
package helm
