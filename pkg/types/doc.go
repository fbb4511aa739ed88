// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package types holds the vocabulary that all other packages share: keys of objects and types, the
// annotations by which manifests steer the reconciler, and the few interfaces that operator authors
// implement. It imports nothing of this module.
package types
