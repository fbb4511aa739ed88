// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package component reconciles components: custom resources, each of which stands for a set of objects, its dependents,
// that a generator derives from its spec.
//
// # Contract
//
// An operator calls [NewReconciler] with a generator, adds hooks, and calls [Reconciler.SetupWithManager]. A component type
// implements [Component]; it, or its spec, may in addition implement any of the ...Configuration interfaces, usually by
// embedding the ...Spec types of this package. Fields of the types [SecretKeyReference] and so on are loaded before the
// spec is used.
//
// All that must not be lost is in the status of the component, or in chunks to which it refers. It is written before the first request that depends on it,
// only if it says something new, and guarded by the resource version: of two instances of an operator that both believe to
// be the leader, the one with the older picture ends its pass. With [ReconcilerOptions].Sharding, all instances work, each on
// its share of the components; a pass ends when it is no longer certain that the component belongs to its share.
//
// # A pass
//
// A pass goes through a list of phases, the first of which that has an outcome ends it. It goes as far as it can and never
// returns merely to be called again. The next pass starts when something happens: to the component, to a dependent, to
// something that the component refers to, or by [Reconciler.Trigger]. Timers are deadlines only. A pass of a component at
// rest makes no request; only the discovery information of a cluster, which charts may depend on, is read again when it
// is more than some minutes old.
//
// # States
//
//	outcome of the pass        state             reason               next pass without an event
//	everything ready           Ready             Ready                requeue interval
//	dependents awaited         Processing        Processing           requeue interval, or when the engine asks for it
//	a dependent has failed     Error             Error                same
//	suspended                  Pending           Suspended            none
//	RetriableError             Pending           Retrying             its delay, or the retry interval
//	target does not answer     Pending           Retrying             5 s, doubled up to the requeue interval
//	too many slow targets      Pending           Retrying             3 s
//	pass took too long         Pending           Retrying             5 s
//	input refused              Error             Error                5 s, doubled up to the requeue interval
//	any other error            Error             Error                1 s, doubled up to 1000 s
//
// No pass is repeated within a second unless something happens, whatever a hook, a dependent or an interval asks for.
//
// A component that is not ready within its timeout has the reason Timeout; if it was Processing it is in state Error. The
// clock starts with the first pass that does not end ready, whatever its outcome; it stops when the component is ready
// (so a later loss of readiness has the full timeout again), suspended or deleted, and starts anew when what is declared
// changes. Flipping between Processing, Pending and Error does not restart it.
//
// While the component is being deleted:
//
//	foreign objects forbid it  Deleting          DeletionBlocked      requeue interval
//	dependents are going       Deleting          DeletionProcessing   requeue interval, or when the engine asks for it
//	RetriableError             DeletionPending   DeletionRetrying     its delay, or the retry interval
//	kubeconfig lost            DeletionPending   DeletionRetrying     10 s
//	target does not answer     DeletionPending   DeletionRetrying     5 s, doubled up to the requeue interval
//	dependents unknown         DeletionPending   DeletionRetrying     10 s
//	any other error            Error             Error                1 s, doubled up to 1000 s
//
// Before that, a component that was just seen is Pending with reason FirstSeen, and one whose declaration has changed is
// Processing with reason Restarting, until the end of the pass. Others see that if dependents are about to be created: the
// status is then written before.
//
// # Revisions
//
// A component has a new revision when its digest changes: the hash over generation, annotations that address the
// reconciler, spec, referenced content, and the fingerprint of the generator. Other annotations and labels do not make a
// new revision, but a generator sees them, and runs again when they change.
package component
