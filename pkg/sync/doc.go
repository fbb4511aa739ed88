// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package sync runs sync operations: it calls the engine of package reconciler until a cluster is as declared, with the hooks, waves and options of Argo CD.
//
// # Contract
//
// A SyncContext is one operation: [Reconcile] pairs what is declared with what exists, [NewSyncContext] begins, and Sync makes a step, which never waits for objects.
// Between steps, Wait waits for a change, without making requests. Before the first write, all objects are checked: by the permission validator, and by a dry run on the
// API server, with the schemas of types that are declared among them. If one is refused, nothing is written. What a dry run cannot show (values of objects in a namespace
// that does not exist yet, quotas) is refused later.
//
// Phases are PreSync, Sync, PostSync and SyncFail, and each has waves. A wave begins when everything before it is applied and healthy, and obsolete objects of its turn
// are gone. PostSync begins when everything is healthy and pruned; SyncFail when objects were refused or have failed after the first write. Within a wave, objects that
// others need come first: Namespaces, definitions of types, configuration. A Namespace and a definition are moved to the first wave that needs them.
//
// An operation can be continued by another process. It needs the revision, the same input, what GetState returned last, and the time at which the operation was
// started; see [WithInitialState]. With that alone, each object is applied once more by the new process, and hooks do not run again. [WithStore] keeps more: which
// fields were written, so that an unchanged object needs no request, not even in the next operation; and dependents that the caller no longer finds. The state has to be
// saved after each step.
//
// The objects get a label and annotations with the prefix [Name]. Objects that exist are adopted, whoever owns them; obsolete ones are marked before they are deleted,
// and those of another owner stay.
//
// An [Operation] makes any calls of the engine for one owner until nothing is left to be done.
//
// # Differences
//
// Names and behavior are those of package sync of the gitops-engine of Argo CD, except for these:
//
//	kubectl, rawConfig and openAPISchema                are no arguments: the API server applies and validates
//	Sync and Terminate                                  have a context; Wait is new
//	WithInitialState                                    needs no store, and can have one (WithStore, WithInventory)
//	WithServerSideApply                                 has no effect: it is always so
//	WithResourceModificationChecker                     has no effect: it is always so
//	an annotation that cannot be read                   refuses the operation, where it was ignored
//	a type that is not served, and not declared         refuses the operation unless SkipDryRunOnMissingResource=true
//	a request that fails for a passing reason           is repeated; the operation is running
//	the last wave                                       is awaited like each other one
//	an object that is neither healthy nor degraded      is awaited; there is no limit but Terminate
//	HookSucceeded, HookFailed                           are about the outcome of the hook itself, not of the operation
//	policies of Argo CD and of Helm on one hook         do not add up: those of Argo CD count
//	hooks without a policy that others use              are updated, not recreated: ServiceAccounts, ConfigMaps and the like
//	Replace=true, Force=true of a live object           do not count for hooks, nor against an option of the declared object
//	hooks that are not declared any more                are pruned if they are recorded
//	a hook with several phases and a fixed name         becomes one object per phase, such as "migrate-postsync"; what others use stays one object
//	names of hooks without a name                       end with a digest of manifest, phase and operation
//	Namespaces and definitions as hooks                 PostSync and SyncFail count as Sync
//	HookFailed                                          does not wait for the other hooks of the phase
//	Prune=confirm                                       holds these objects only; everything else but PostSync is done
//	the deletion of a type, or of a Namespace           waits until nobody else has objects in it
//	PruneLast                                           keeps the reverse order of waves
//	a wave                                              is between -9999 and 9999
//	an object that has failed to be applied             stops the rest of its wave, and later ones
//	an object that recovers while SyncFail hooks run    does not end them; the operation fails nevertheless
//	an object that others delete meanwhile              is applied again, unless it has ended and is a Job or Pod that is a hook, or a Job with ttlSecondsAfterFinished
//	an object that is declared twice                    refuses the operation
//	the wave hook                                       is not called for waves in which nothing has changed
//	the namespace of the operation                      is not created before the dry run
//	images                                              are not in the results
package sync
