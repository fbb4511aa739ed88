// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds knows which kinds the engine treats specially, the order in which kinds are applied and deleted, and the types that an object
// defines.
package kinds
