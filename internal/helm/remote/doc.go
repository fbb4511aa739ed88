// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package remote fetches charts, and other files, from registries, repositories and URLs.
//
//	oci://HOST/PATH                  a chart in a registry, which may be followed by :TAG or @DIGEST
//	https://HOST/PATH#CHART          a chart in the repository at the URL, which has an index.yaml; it may be followed by :VERSION
//	https://HOST/PATH                the file itself
//	REPO/CHART                       a chart in a repository by its name in Helm's repositories.yaml; it may be followed by :VERSION
//
// A version may be a range, such as ^1.2, which means the newest version in it. The default is the newest version that
// is no pre-release.
//
// References are not cached. All responses for one reference together must not exceed 64 MiB, indexes included.
// Credentials of registries are those of Helm ("helm registry login") or Docker, those of repositories with a name are
// in repositories.yaml.
//
// [BuildDependencies] and [UpdateDependencies] put the dependencies of a chart into its folder charts, with Helm's own
// library. They read the files that Helm reads: the names of repositories and their credentials in repositories.yaml,
// the credentials of registries, and the environment variables that say where these files are (HELM_REPOSITORY_CONFIG,
// HELM_REGISTRY_CONFIG and so on). Indexes of repositories are kept in Helm's cache. Other than Helm, they contact only
// the repositories that the chart refers to, and fetch also from URLs that repositories.yaml does not have.
package remote
