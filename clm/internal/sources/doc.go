// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package sources turns what a release is made from into one generator.
//
// A source is given by a reference, whose form and content say what it is:
//
//	a folder with Chart.yaml              a Helm chart
//	a folder with a kustomization file    a kustomization
//	or .component-config.yaml
//	any other folder                      the manifests in its .yaml, .yml and .json files, by name; not those of folders below
//	a file                                a packaged chart if it is compressed, manifests otherwise
//	-                                     manifests from standard input
//	oci://..., https://...                a chart or manifests that are fetched, see package remote
//
// Everything is read by [Load], and never again. Charts and kustomizations with templates are given the values; manifests are
// taken as they are.
package sources
