// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package replicas judges workloads that consist of equal replicas, by numbers that all such kinds have in their status.
package replicas
