// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package diff shows changes of objects as differences between their manifests in YAML. It omits fields that only the server writes, and masks values
// of Secrets such that equal values are recognizable as equal.
package diff
