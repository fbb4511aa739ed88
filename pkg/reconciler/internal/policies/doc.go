// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package policies reads what annotations, and the owner of an object, say about how the object is to be treated. See package inventory for what the
// policies mean.
package policies
