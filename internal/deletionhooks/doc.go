// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package deletionhooks applies objects during a deletion, and removes them again: hooks.
//
// # Contract
//
// A deletion goes through stages, and never back: pre-delete hooks are applied, awaited and removed; the caller deletes
// the dependents; post-delete hooks are applied, awaited and removed. [Runner.Step] does as much for the hooks as it
// can without waiting. The caller passes the [State] that the last step returned, or that was saved last, and calls
// again when something has changed.
//
// The stage in which hooks are applied is saved together with the first hook, before the request that creates it. The
// stage after it is saved before the first hook is removed. So a process that dies between any two requests neither
// skips a hook nor runs it twice.
//
// Hooks have the same owner as the dependents, and an inventory of their own. So a hook may be an object that is, or
// was, a dependent.
package deletionhooks
