// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package live finds out how the dependents of a release are doing, from what its inventory records and what the cluster
// shows: the state of each as the engine judges it, what it owns down to the pods, and, for what is not ready, why.
//
// [Tree] takes a picture. It sends one LIST for each kind and namespace involved, whatever the number of objects, and further
// requests only for what is not ready: for its events, and for the last line that a crashed container has written. [Events] and
// [Logs] are about the objects of the same tree; [WatchEvents], and Logs on demand, also about those that come later.
//
// What the user is not allowed to read is missing from the result, which says so; the rest is there. Nothing is written to
// the cluster.
package live
