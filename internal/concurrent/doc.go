// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package concurrent does work in several goroutines: for all processors, or with a limit.
//
// # Contract
//
// Each function returns when all work has ended. A panic of the work becomes a *Panic of the caller.
package concurrent
