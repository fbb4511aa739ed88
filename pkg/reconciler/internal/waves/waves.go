// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Waves applies the targets of a call, wave by wave.
type Waves struct {
	*calls.Call

	// Misplaced means that the scope of some types was not known when their objects were prepared; so they must be prepared
	// again.
	Misplaced bool

	applier *applier
	visited []bool // by the index of the target; whether the call has come to it
}

// Options are options of a call.
type Options struct {
	// RecordAdoptions records which objects existed before, before they are adopted.
	RecordAdoptions bool
}

// New returns the Waves of a call whose ledger has the items of all targets.
func New(call *calls.Call, options Options) *Waves {
	count := len(call.Ledger.Wanted)
	return &Waves{
		Call: call, visited: make([]bool, count),
		applier: &applier{Call: call, remover: NewRemover(call), recordAdoptions: options.RecordAdoptions, written: make([]bool, count)},
	}
}

// Apply applies all targets, which are sorted, and reports whether all of them are ready or completed.
func (w *Waves) Apply(ctx context.Context, wanted []*targets.Target) (ready bool, err error) {
	var purgeable []*targets.Target
	for _, t := range wanted {
		if t.PurgeOrder != nil {
			purgeable = append(purgeable, t)
		}
	}
	done := 0
	waves := targets.Group(wanted, func(t *targets.Target) int { return t.ApplyOrder })
	for i, wave := range waves {
		for _, members := range targets.Group(wave, (*targets.Target).Stage) {
			ready, err := w.applyStage(ctx, members, len(wave))
			if err != nil || !ready {
				return false, w.stopped(ctx, err, wanted[done:])
			}
			done += len(members)
		}
		over := types.MaxOrder
		if i+1 < len(waves) {
			over = waves[i+1][0].ApplyOrder - 1
		}
		if ready, err := w.purge(ctx, purgeable, wave[0].ApplyOrder, over); err != nil || !ready {
			return false, w.stopped(ctx, err, wanted[done:])
		}
		if err := w.Ledger.Checkpoint(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// applyStage applies the members of one stage, tier by tier, and reports whether all are ready.
func (w *Waves) applyStage(ctx context.Context, members []*targets.Target, waveSize int) (ready bool, err error) {
	if members[0].Stage() == targets.Instances {
		if unplaced := w.unplaced(ctx, members); len(unplaced) > 0 {
			w.Report.StopsAt(members[0].ApplyOrder, waveSize)
			return false, nil
		}
		if err := w.Needs.Watch(ctx, members, targets.Instances); err != nil {
			return false, err
		}
	}
	ready = true
	unwritten := false
	for _, tier := range targets.Group(members, w.Tiers.Of) {
		if unwritten && w.Tiers.Of(tier[0]) == kinds.TierLast {
			if tier = w.existingWebhooks(ctx, tier); len(tier) == 0 {
				break
			}
		}
		unready, err := w.applyTier(ctx, tier)
		if err != nil {
			return false, fmt.Errorf("applying wave %d: %w", members[0].ApplyOrder, answers.Join(err, w.applyExistingWebhooks(ctx, err, members)))
		}
		if err := w.dismissFailed(ctx, tier); err != nil {
			return false, fmt.Errorf("deleting failed objects of wave %d: %w", members[0].ApplyOrder, err)
		}
		for _, o := range unready {
			ready, unwritten = false, unwritten || o.unwritten
			if o.doomed {
				w.Report.AwaitsInVain(o.item, o.message)
			} else {
				w.Report.Awaits(o.item, o.message)
			}
		}
	}
	if !ready {
		w.Report.StopsAt(members[0].ApplyOrder, waveSize)
	}
	return ready, nil
}

// existingWebhooks returns those webhook configurations in the last tier that exist after all, although the observer, which does
// not watch objects without our label, does not know them: they may deny the other objects. It leaves those that cannot be read
// to a later call.
func (w *Waves) existingWebhooks(ctx context.Context, members []*targets.Target) []*targets.Target {
	var found []*targets.Target
	for _, t := range members {
		if w.visited[t.Index] || w.Tiers.Of(t) != kinds.TierLast {
			continue
		}
		if s, err := w.Server.Ask(ctx, w.Ledger.Of(t)); err == nil && s.Exists {
			found = append(found, t)
		}
	}
	return found
}

// applyExistingWebhooks applies existing webhook configurations after other objects of the stage could not be applied, because
// they may be the reason.
func (w *Waves) applyExistingWebhooks(ctx context.Context, reason error, members []*targets.Target) error {
	if !answers.IsAboutObjects(reason) {
		return nil
	}
	if tier := w.existingWebhooks(ctx, members); len(tier) > 0 {
		_, err := w.applyTier(ctx, tier)
		return err
	}
	return nil
}

// unplaced returns the objects without a namespace whose type turns out to be namespaced, because it was not served when they
// were prepared, or because its definition is going to change the scope. They must be prepared again.
func (w *Waves) unplaced(ctx context.Context, members []*targets.Target) []*targets.Target {
	var unplaced []*targets.Target
	for _, t := range members {
		if t.Key.Namespace != "" || !w.namespaced(t) {
			continue
		}
		// The client's knowledge may be outdated. If the server does not answer, the write will fail, too.
		if err := cluster.RenewTypes(ctx, w.Server.Client.RESTMapper(), t.Key.Group); err != nil || !w.namespaced(t) {
			continue
		}
		unplaced = append(unplaced, t)
		w.Misplaced = true
		w.Report.Awaits(w.Ledger.Of(t), w.whyUnplaced(t))
		w.Retry(w.Ledger.Of(t))
	}
	return unplaced
}

// namespaced reports whether the client considers the type of an object namespaced.
func (w *Waves) namespaced(t *targets.Target) bool {
	mapping, err := w.Server.Client.RESTMapper().RESTMapping(t.Key.GroupKind, t.GVK().Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

func (w *Waves) whyUnplaced(t *targets.Target) string {
	for _, item := range w.Ledger.Items {
		defines := func(managed inventory.TypeVersionInfo) bool { return kinds.Matches(managed, t.GVK()) }
		if kinds.IsCRD(schema.GroupKind{Group: item.Group, Kind: item.Kind}) && slices.ContainsFunc(item.ManagedTypes, defines) {
			return fmt.Sprintf("its type is still namespaced in the cluster, although %s declares it cluster-scoped", types.IDOf(item))
		}
	}
	return "its type was not served until now"
}

// stopped ends the waves before the rest of the targets, and corrects drift of these.
func (w *Waves) stopped(ctx context.Context, err error, rest []*targets.Target) error {
	var stale *inventory.StaleError
	if errors.As(err, &stale) {
		return err
	}
	return answers.Join(err, w.correctDrift(ctx, rest))
}

// correctDrift corrects drift of dependents that the waves have not come to.
func (w *Waves) correctDrift(ctx context.Context, rest []*targets.Target) error {
	if w.Consent.MayGoOn() != nil {
		// The waves have stopped for this reason, and returned it.
		return nil
	}
	written := slices.DeleteFunc(slices.Clone(rest), func(t *targets.Target) bool {
		return w.visited[t.Index] || !records.IsWritten(w.Ledger.Of(t)) || w.Tiers.Of(t) == kinds.TierLast
	})
	if len(written) == 0 {
		return nil
	}
	if _, err := w.applyTier(ctx, written); err != nil {
		return fmt.Errorf("correcting drift: %w", err)
	}
	return nil
}

// applyTier applies targets concurrently and returns those that are not ready. Its error joins all errors.
func (w *Waves) applyTier(ctx context.Context, tier []*targets.Target) ([]outcome, error) {
	var t outcomes
	var requests []*targets.Target
	for _, target := range tier {
		w.visited[target.Index] = true
		if o, settled := w.applier.applyQuietly(target); settled {
			t.add(o, nil)
		} else {
			requests = append(requests, target)
		}
	}
	flow.Each(ctx, w.Server.Flow, requests, func(target *targets.Target) { t.add(w.applier.applyOne(ctx, target)) })
	targetOf := func(item *inventory.Item) *targets.Target {
		return requests[slices.IndexFunc(requests, func(target *targets.Target) bool { return w.Ledger.Of(target) == item })]
	}
	w.adopt(ctx, &t, func(o outcome) (outcome, error) { return w.applier.applySeen(ctx, targetOf(o.item), *o.adopting, nil) })
	putUpBarriers(ctx, w.Call, &t, func(item *inventory.Item) (outcome, error) { return w.applier.applyOne(ctx, targetOf(item)) })
	return t.unready, t.Err()
}

// settled records the observed status of a dependent, and returns the outcome.
func (a *applier) settled(item *inventory.Item, s decisions.Situation) outcome {
	a.Aliases.Take(s.Seen.UID, types.IDOf(item))
	item.Status = s.Seen.Status
	if !s.Seen.Deadline.IsZero() {
		a.Report.RequeueAfter(max(s.Seen.Deadline.Sub(a.Server.Clock.Now()), 0) + 1)
	}
	switch s.Seen.Status {
	case status.CurrentStatus:
		item.Phase = inventory.PhaseReady
		return outcome{item: item, ready: true}
	case status.FailedStatus:
		a.Report.Fails(item, s.Seen.Message)
		return outcome{item: item, message: "failed: " + s.Seen.Message}
	case status.InProgressStatus, status.TerminatingStatus, status.NotFoundStatus, status.UnknownStatus:
		return outcome{item: item, message: cmp.Or(s.Seen.Message, "status is "+s.Seen.Status.String())}
	default:
		return outcome{item: item, message: cmp.Or(s.Seen.Message, "status is "+s.Seen.Status.String())}
	}
}
