// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package helmreleases reads the releases that Helm has recorded in a cluster, and deletes such records.
//
// # Contract
//
// Helm 3 and 4 record each revision of a release in a Secret, or in a ConfigMap if HELM_DRIVER says so; both are read. Records in a SQL database are not.
// A record that cannot be read is an error that names its object: no revision is left out. Nothing is written but by [Release.Retire], which deletes
// exactly the records that were read, and nothing if Helm has changed the release since.
package helmreleases
