// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package tasks turns the objects of a sync operation, which have annotations of Argo CD or Helm, into objects of the engine.
//
// It makes no request. A hook with several phases becomes a task for each of them; an object whose phases are all outside of an operation becomes none.
package tasks
