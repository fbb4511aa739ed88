// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package diff shows what would become of objects, as differences between their manifests in YAML. What the server keeps
// for itself is left out, and values of Secrets are masked in such a way that equal ones are seen to be equal.
package diff
