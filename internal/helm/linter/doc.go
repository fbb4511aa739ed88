// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package linter examines charts with the linter of Helm's SDK.
package linter
