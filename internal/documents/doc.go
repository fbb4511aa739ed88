// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package documents makes objects of YAML documents as the machinery of Kubernetes does, and refuses what no object can be made of.
package documents
