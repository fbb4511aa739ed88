// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package listwatch watches objects for as long as a command runs. Unlike the informers of operators, it keeps no cache.
package listwatch
