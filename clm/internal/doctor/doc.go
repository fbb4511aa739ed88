// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor compares the records of releases with the cluster, and repairs records.
//
// # Contract
//
// An examination changes nothing. A repair writes only records and locks: it creates, changes or deletes no dependent.
// It holds the lock of the release, does not wait for others, and looks again before it writes. The marks of a release
// are evidence only in the namespaces of the release, because any user can put marks on an object.
package doctor
