// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package failures has the errors by which operations on releases end, and the advice on what to do then.
//
// # Contract
//
// The errors name objects, holders and commands, and can be shown as they are. Commands take their exit codes from the
// type of the error: a NotReadyError, a RefusedError, an InterruptedError, or one of which IsChanged is true, which
// requires another plan. Nothing here makes requests.
package failures
