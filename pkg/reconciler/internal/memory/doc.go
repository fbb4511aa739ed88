// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package memory remembers what only serves to save requests: when an object was corrected, verified and retried. Nothing is lost if that is.
package memory
