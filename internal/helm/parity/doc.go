// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package parity proves that charts render to the same objects as with Helm's own command. It is a module of its own,
// because that command drags in clients of Kubernetes, databases and registries, which nobody who uses the runtime
// should inherit.
//
// Each file in folder testdata is a chart that pins one behaviour, in the format of golang.org/x/tools/txtar. Its
// comment says what the behaviour is. Apart from the files of the chart it may hold
//   - given-values.yaml: the values that are given, as in a values file for Helm, and as the spec of a component for us;
//   - given-upgrade: its presence makes the release an upgrade;
//   - expected-error: parts that the error of either must contain, one per line; without it, both must succeed;
//   - expected-objects.yaml: what Helm renders, sorted, so that nothing is equal because it is missing. It is written by
//     go test with the flag -update.
//
// A missing Chart.yaml is made up, for the chart as well as for each folder in a folder charts; files in a folder
// NAME.tgz are packaged as "helm package" does.
//
// TestAdopt and TestBack test, with Helm's own packages, how releases of Helm become releases of clm, and how they return.
package parity
