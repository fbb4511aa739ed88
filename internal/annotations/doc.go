// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package annotations parses the reconciler's annotations on manifests, and handles its finalizers. Only this package
// defines the allowed values, for the engine and for all earlier checks of manifests.
package annotations
