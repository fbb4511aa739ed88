// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package policies reads the policies of objects from their annotations and their owner. Package inventory says what the policies mean.
package policies
