// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package revisions decides what a deployment does with its sets. It is pure: it makes no requests, and changes
// nothing.
//
// # Contract
//
// A deployment looks at the sets that it controls, its revisions. The newest of them, by spec.revision, is the current
// one. If the template does not make that one, or it is archived, a new one is needed. So a set is never reactivated:
// returning to an earlier content makes another set.
//
// The lifecycle state of a set belongs to the deployment, but for one thing: a set that somebody has archived stays
// archived.
//
//	deployment   set                                                            current set        state
//	any          archived                                                       any                Archived
//	paused       any                                                            any                Paused
//	active       the current one                                                -                  Active
//	active       an earlier one                                                 has succeeded      Archived
//	active       an earlier one that is paused, and has nothing left            has not            Archived
//	active       an earlier one that has nothing left                           has not            Paused
//	active       an earlier one that was never rolled out completely            has not            Paused
//	active       any other earlier one                                          has not            Active
//
// "has succeeded" means that the set has the condition Succeeded, and is available now. An earlier set that was rolled
// out goes on correcting what it still has, until the current one has succeeded. One that was not must not go on: its
// objects belong to outdated content. "has nothing left" means that later sets have adopted all
// objects that were applied. It is certain only of a set that is paused: another one may be writing.
//
// When the deployment is deleted, the sets are deleted from the oldest to the newest, and the newer ones are paused
// meanwhile: as a set adopts phase by phase, what an older one still has comes later in the order of the phases.
package revisions
