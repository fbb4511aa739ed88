// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor compares what is recorded of releases with what is in the cluster, and repairs records.
//
// # Contract
//
// An examination changes nothing. A repair writes records and locks, and nothing else: no dependent is created, changed or deleted. It holds the lock of
// the release, does not wait for others, and looks again before it writes. The marks of a release are evidence only in the namespaces with which the
// release has to do, because anybody can write them on objects of his own.
package doctor
