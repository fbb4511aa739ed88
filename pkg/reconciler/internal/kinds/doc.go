// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds knows the kinds of objects that the engine treats in a way of their own, in which order kinds are applied and deleted, and which types an
// object brings into a cluster. It looks at nothing but types.
package kinds
