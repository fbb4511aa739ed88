// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package listwatch watches objects in a cluster for as long as somebody looks on. It is meant for commands: they look on for a while and
// keep no state of their own, unlike the caches of operators.
package listwatch
