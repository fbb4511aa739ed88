// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package component reconciles components: custom resources, each of which stands for a set of objects, its dependents.
// A generator derives them from the spec.
//
// # Contract
//
// An operator calls [NewReconciler] with a generator, adds hooks, and calls [Reconciler.SetupWithManager]. A component
// type implements [Component]. It, or its spec, may also implement any of the ...Configuration interfaces, usually by
// embedding the ...Spec types of this package. Fields of the types [SecretKeyReference] and so on are loaded before the
// spec is used.
//
// Everything that must not be lost is in the status of the component, or in chunks that it refers to. The status is
// written before the first request that depends on it, only if it has changed, and guarded by the resource version. If
// two instances of an operator both believe that they are the leader, the one with the older data ends its pass. With
// [ReconcilerOptions].Sharding, all instances work, each on its share of the components. A pass ends when it is no
// longer certain that the component belongs to its share.
//
// # A pass
//
// A pass goes through a list of steps. The first step with an outcome ends it. A pass does as much as it can, and never
// returns only to be called again. The next pass starts when something happens: to the component, to a dependent, to an
// object that the component refers to, or by [Reconciler.Trigger]. Timers are deadlines only. A pass of a component at
// rest makes no request, with one exception: the discovery information of a cluster, which charts may depend on, is
// read again when it is more than some minutes old.
//
// # States
//
//	outcome of the pass        state             reason               next pass without an event
//	all dependents ready       Ready             Ready                requeue interval
//	dependents not ready yet   Processing        Processing           requeue interval, or when the engine asks for it
//	a dependent has failed     Error             Error                same
//	deletions held             Pending           DeletionsHeld        requeue interval, or when the engine asks for it
//	suspended                  Pending           Suspended            requeue interval, or when the engine asks for it
//	paused                     Pending           Paused               requeue interval
//	archived                   Pending           Archived             none
//	RetriableError             Pending           Retrying             its delay, or the retry interval
//	target does not answer     Pending           Retrying             5 s, doubled up to the requeue interval
//	too many slow targets      Pending           Retrying             3 s
//	pass took too long         Pending           Retrying             5 s
//	input refused              Error             Error                5 s, doubled up to 1 min or the requeue interval
//	any other error            Error             Error                1 s, doubled up to 1 min
//
// Without an event, no pass is repeated within a second, even if a hook, a dependent or an interval requests it.
//
// A component that is not ready within its timeout has the reason Timeout, and the state Error instead of Processing.
// The timeout starts with the first pass that does not end ready, regardless of its outcome. It ends when the component
// is ready, suspended, paused, archived or deleted; a later loss of readiness has the full timeout again. It starts
// again when the declaration changes. Changes between Processing, Pending and Error do not restart it.
//
// While the component is being deleted:
//
//	blocked, or not approved   Deleting          DeletionBlocked      requeue interval
//	dependents being deleted   Deleting          DeletionProcessing   requeue interval, or when the engine asks for it
//	RetriableError             DeletionPending   DeletionRetrying     its delay, or the retry interval
//	kubeconfig lost            DeletionPending   DeletionRetrying     10 s
//	target does not answer     DeletionPending   DeletionRetrying     5 s, doubled up to the requeue interval
//	unrecorded dependents      DeletionPending   DeletionRetrying     10 s
//	any other error            Error             Error                1 s, doubled up to 1 min
//
// During its first pass, a new component is Pending with reason FirstSeen. After a change of the declaration, a
// component is Processing with reason Restarting until the end of the pass. Other clients see these states only if the
// pass creates dependents, because the status is written before that.
//
// # Revisions
//
// A component gets a new revision when its digest changes: the hash of generation, annotations with the prefix of the
// reconciler, spec, referenced content, and the fingerprint of the generator. Other annotations and labels do not cause
// a new revision; but generators see them, and run again when they change.
//
// A component that an operator with the predecessor of this SDK has processed keeps its revision, unless its generation
// has changed since.
package component
