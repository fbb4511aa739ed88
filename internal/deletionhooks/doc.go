// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package deletionhooks applies objects when something is being deleted, and removes them again: hooks.
//
// # Contract
//
// A deletion goes through stages that never go back: pre-delete hooks are applied and awaited, and removed; the caller deletes
// dependents; post-delete hooks are applied and awaited, and removed. [Runner.Step] works on the hooks, as far as it can without
// waiting. The caller passes the [State] that the last step returned, or that was saved last, and calls again when something has changed.
//
// The stage in which hooks are applied is saved together with the first of them, before the request that creates it. That they are done
// is saved before the first of them is removed: whoever finds one gone must not run it again. So a process that dies between any two
// requests neither leaves a hook out nor runs it twice.
//
// Hooks have the owner of the dependents, and an inventory of their own. So a hook may be an object that is, or was, a dependent.
package deletionhooks
