// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package live reads from the cluster how the dependents of a release are doing: the status of each as the engine judges it, what it owns down to the
// pods, and, if it is not ready, why.
//
// [Tree] takes a snapshot. It sends one LIST for each kind and namespace involved, whatever the number of objects, and further
// requests only for objects that are not ready: for their events, and for the last line in the log of a crashed container. [Events] and
// [Logs] cover the objects of the same tree; [WatchEvents], and Logs on demand, also those that are created later.
//
// If the user is not allowed to read something, the result lacks it, and says so; the rest is there. The package writes nothing to
// the cluster.
package live
