// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package documents turns YAML documents into objects as Kubernetes does, and refuses documents that are no objects.
package documents
