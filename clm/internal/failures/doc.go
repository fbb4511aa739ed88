// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package failures says how operations on releases end that do not succeed, and what can be done then.
//
// # Contract
//
// The errors name objects, holders and commands, and are good to be shown as they are. Commands take their exit codes from the type of the error: a
// NotReadyError, a RefusedError, an InterruptedError, or one of which IsChanged is true, which asks for another plan. Nothing here makes requests.
package failures
