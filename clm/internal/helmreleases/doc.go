// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package helmreleases reads the releases that Helm has recorded in a cluster, and deletes such records.
//
// # Contract
//
// Helm 3 and 4 record each revision of a release in a Secret, or in a ConfigMap if HELM_DRIVER says so; both are read.
// Records in a SQL database are not. A record that cannot be read is an error that names its object, unless it is older
// than the revision that is installed: then it is listed as unreadable. Contents of revisions are decoded one at a
// time, when they are asked for. Nothing is written but by [Release.Retire], which deletes exactly the records that
// were found, and nothing if Helm has changed the release since.
package helmreleases
