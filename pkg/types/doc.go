// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package types contains the types that all other packages share: keys of objects and types, the annotations that
// control the reconciler, and the few interfaces that operator authors implement. It imports no other package of this
// module.
package types
