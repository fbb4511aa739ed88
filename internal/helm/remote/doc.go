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
// [BuildDependencies] and [UpdateDependencies] put the dependencies of a chart into its folder charts, each fetched as a
// reference is. The environment variables HELM_REPOSITORY_CONFIG and HELM_REGISTRY_CONFIG say where the files with
// repositories and credentials are. Repositories that plugins of Helm serve are refused.
package remote
