// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package live reads the current state of the dependents of a release from the cluster: the status of each as the
// engine computes it, the objects that it owns, down to the pods, and the reasons if it is not ready.
//
// [Tree] takes a snapshot. It sends one LIST per kind and namespace involved, whatever the number of objects, and
// further requests only for objects that are not ready: for their events, and for the last line in the log of a crashed
// container. A [Survey] lists the same objects and the events, and then watches them: it takes further snapshots without
// reading again what has not changed. [Events] and [Logs] cover the objects of the same tree; [WatchEvents], and Logs if
// requested, also those that are created later, by a Survey.
//
// If the user may not read or watch something, the result contains a note. What may not be read is omitted, the rest is
// complete; what may not be watched is read again every 30 seconds. The package writes nothing to the cluster.
package live
