// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package dependencies puts the dependencies of a chart into its folder charts, with Helm's own library.
//
// It reads what Helm reads: the names of repositories and their credentials in repositories.yaml, the credentials of registries, and the environment variables
// that say where these files are (HELM_REPOSITORY_CONFIG, HELM_REGISTRY_CONFIG and so on). Indexes of repositories are kept in Helm's cache. Other than Helm,
// it contacts only the repositories that the chart refers to, and [Build] also fetches from URLs that repositories.yaml does not have.
package dependencies
