// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package helm renders Helm charts with the Helm SDK.
//
// [Load] reads a [Chart] once, which may then be rendered any number of times, also concurrently. The result is what
// "helm install" would send to the cluster, apart from these differences:
//   - The value of .Release.Name is not restricted to 53 characters.
//   - Objects of the crds folders come first, and are otherwise treated like all others.
//   - The output of all templates together must not exceed 16 MiB.
//   - Keys that collide because one of them is no text, such as 1 and "1", are refused.
//   - Templates see given whole numbers as integers, as with --set; those from values files, including the chart's
//     own, are floats, and Helm prints large ones with an exponent.
//   - Looking up a type that the cluster does not have returns nothing, like looking up an object that does not exist.
//   - Objects within a list (kind List, or a typed one) are returned one by one. Those
//     without any of Helm's annotations inherit the annotations of the list.
//
// Helm's engine only limits how often a template includes itself. It cannot be interrupted, and writes into its own
// buffers, so the size of the output is checked afterwards. A chart, or a value that it renders with tpl, may therefore
// exhaust the memory or the stack of the process, by repeating a text endlessly or by calling tpl within itself. Render
// untrusted charts and values in a separate operator with a memory limit.
//
// Package manifests/helm implements hooks.
package helm
