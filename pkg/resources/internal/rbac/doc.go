// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package rbac has what roles have in common with cluster roles, and what their bindings have in common.
package rbac
