// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package sync runs sync operations: it calls the engine of package reconciler until a cluster is in the declared
// state, with the hooks, waves and options of Argo CD.
//
// # Contract
//
// A SyncContext is one operation: [Reconcile] pairs declared objects with existing ones, [NewSyncContext] begins, and
// Sync makes a step, which never waits for objects. Between steps, Wait waits for a change, without making requests.
// Before the first write, all objects are checked: by the permission validator, and by a dry run on the API server,
// with the schemas of types that are declared among them. If one is refused, nothing is written. Problems that a dry
// run cannot detect (values of objects in a namespace that does not exist yet, quotas) are refused later.
//
// Phases are PreSync, Sync, PostSync and SyncFail, and each has waves. A wave begins when everything before it is
// applied and healthy, and the obsolete objects whose turn it is are gone. PostSync begins when everything is healthy
// and pruned; SyncFail when objects were refused or have failed after the first write. Within a wave, objects that
// others need come first: Namespaces, definitions of types, configuration. A Namespace and a definition are moved to
// the first wave that needs them.
//
// An operation can be continued by another process. It needs the revision, the same input, the last result of GetState,
// and the start time of the operation; see [WithInitialState]. With that alone, each object is applied once more by the
// new process, and hooks do not run again. [WithStore] keeps more: the written fields, so that an unchanged object
// needs no request, not even in the next operation; and dependents that the caller no longer finds. The state must be
// saved after each step.
//
// The objects get a label and annotations with the prefix [Name]. Existing objects are adopted, even from another
// owner; obsolete ones are marked before they are deleted, and those of another owner stay.
//
// An [Operation] makes any calls of the engine for one owner until nothing is left to be done.
//
// # Differences
//
// The names are those of package sync of the gitops-engine of Argo CD. Sync and Terminate have a context, and Wait is
// new. There are no arguments kubectl, rawConfig and openAPISchema, and no images in the results. [WithServerSideApply]
// and [WithResourceModificationChecker] have no effect: both are always on. The page about sync operations lists other
// differences.
package sync
