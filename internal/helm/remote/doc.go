// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package remote fetches charts, and other files, from registries, repositories, Git repositories and URLs, and pushes
// charts to registries.
//
//	oci://HOST/PATH                  a chart in a registry, which may be followed by :TAG or @DIGEST
//	oci://HOST/PATH//FOLDER          a folder or file in another artifact; likewise
//	git::URL//FOLDER                 a folder or file in a Git repository, which may be followed by ?ref=REF; the URL begins
//	                                 with https, ssh or file
//	https://HOST/PATH#CHART          a chart in the repository at the URL, which has an index.yaml; it may be followed by :VERSION
//	https://HOST/PATH                the file itself
//	REPO/CHART                       a chart in a repository by its name in Helm's repositories.yaml; it may be followed by :VERSION
//
// A version may be a range, such as ^1.2, which means the newest version in it. The default is the newest version that
// is not a pre-release.
//
// An artifact is what Flux or oras push: its layers are tar archives or single files. Of a Git repository, one commit is
// fetched by the program git. In both, "//FOLDER" may be missing. Their files have at most 100 MiB, and no symbolic links
// that lead out of what is fetched.
//
// References are not cached. All responses for one reference together must not exceed 64 MiB, including indexes.
// Credentials for registries are those of [Login], Helm ("helm registry login") or Docker; credentials for named
// repositories are in repositories.yaml; git has its own.
//
// [BuildDependencies] and [UpdateDependencies] fetch the dependencies of a chart into its charts folder, each like a
// reference. The environment variables HELM_REPOSITORY_CONFIG and HELM_REGISTRY_CONFIG contain the paths of the files
// with repositories and credentials. [AddRepository], [RemoveRepositories], [Login] and [Logout] change these files as
// Helm does, which may run at the same time. Repositories that need plugins of Helm are refused.
package remote
