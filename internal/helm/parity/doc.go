// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package parity proves that charts render to the same objects as with Helm's own command. It is a module of its own,
// because that command depends on clients of Kubernetes, databases and registries, which users of the runtime should
// not inherit.
//
// Each file in folder testdata is a chart that pins one behavior, in the format of golang.org/x/tools/txtar. Its
// comment describes the behavior. Apart from the files of the chart it may contain
//   - given-values.yaml: the values that are given, as in a values file for Helm, and as the spec of a component for us;
//   - given-upgrade: its presence makes the release an upgrade;
//   - expected-error: parts that the error of either must contain, one per line; without it, both must succeed;
//   - expected-objects.yaml: what Helm renders, sorted, so that nothing is equal because it is missing. It is written by
//     go test with the flag -update.
//
// A missing Chart.yaml is generated, for the chart as well as for each folder in a charts folder; files in a folder
// NAME.tgz are packaged like with "helm package".
//
// TestFilesOfHelm uses Helm's command and clm in turn, with the same repositories and registries.
//
// TestAdopt and TestBack test, with Helm's own packages, how Helm releases become releases of clm and back.
package parity
