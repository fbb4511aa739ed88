// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package apply plans and makes revisions of releases: from sources, from an earlier revision, or the current one again.
//
// # Contract
//
// A plan says what will be done, and has changed nothing. The caller closes it. The plan is carried out under the lock of the release, if the
// release has not changed since, and everything is recorded before it is done: the new revision before the first object is written, each object
// before the request that creates it. A process that dies between any two requests therefore loses nothing, and the next operation on the
// same release continues where it stopped. Tests and deletion hooks are not part of this: see packages testrun and deletion.
package apply
