// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package sources combines the sources of a release in one generator.
//
// The form and the content of a reference determine the kind of the source:
//
//	a folder with Chart.yaml              a Helm chart
//	a folder with a kustomization file    a kustomization
//	or .component-config.yaml
//	any other folder                      the manifests in its .yaml, .yml and .json files, by name; not those of folders below
//	a file                                a packaged chart if it is compressed, manifests otherwise
//	-                                     manifests from standard input
//	oci://..., git::..., https://...      fetched, see package remote: a chart, manifests, or a folder, whose content decides as above
//	REPO/CHART                            a chart of a repository that Helm knows, if there is no such path
//
// [Load] reads everything once. Charts and kustomizations with templates get the values; manifests are used as they
// are.
package sources
