// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Move moves objects. First the receiver records them; then the label of each object changes, in one write; then the
// giver removes them from its record. At any time, the label alone determines the owner of an object, and repeating an
// interrupted move continues it. It does not wait for other objects of the releases, apart from those of earlier waves
// of the receiver. Errors are those of Apply.
func (t *Transfer) Move(ctx context.Context, options Options) error {
	options.Wait = WaitReady
	b := runner.NewBoard(t.connection, string(Move), t.To.Release.String(), t.To.Revision.Number)
	err := runner.Interrupted(ctx, t.move(ctx, options, b))
	b.Finish(t.outcome(err), err)
	return err
}

func (t *Transfer) outcome(err error) display.Outcome {
	between := fmt.Sprintf("from release %s to release %s", t.From.Release, t.To.Release)
	switch {
	case err != nil:
		summary := fmt.Sprintf("moving %s %s: %s", display.Count(len(t.Objects), "object"), between, releases.Summary(err))
		return display.Outcome{Summary: summary, Next: releases.Next(err, t.To.Release)}
	case t.left == 0:
		return display.Outcome{Done: true, Summary: fmt.Sprintf("nothing left to move %s", between)}
	default:
		return display.Outcome{Done: true, Summary: fmt.Sprintf("moved %s %s", display.Count(t.left, "object"), between)}
	}
}

func (t *Transfer) move(ctx context.Context, options Options, b *runner.Board) error {
	to, from, done, err := t.beginBoth(ctx, b, options.Limits)
	if err != nil {
		return err
	}
	defer done()
	if err := from.ConfirmUnchanged(ctx); err != nil {
		return err
	}
	ctx, stop := from.WatchLock(ctx)
	defer stop()
	options.Enough = t.areReady
	failure := t.To.CarryOut(ctx, to, options)
	if failure != nil && !releases.IsFailure(failure) {
		return failure
	}
	if !t.concerns(failure) {
		failure = nil
	}
	if err := t.confirmOwner(ctx); err != nil {
		return errors.Join(failure, err)
	}
	b.Say(fmt.Sprintf("release %s gives up its ownership", t.From.Release))
	// Its progress does not show the moved objects.
	from.Mute()
	// Nothing is left to be done there.
	options.Enough = func(reconciler.Result) bool { return true }
	err = t.From.CarryOut(ctx, from, options)
	if notReady, found := errors.AsType[*releases.NotReadyError](err); err != nil && !(found && len(notReady.Failed) > 0) {
		stage := fmt.Sprintf("ending the ownership of release %s", t.From.Release)
		return errors.Join(failure, &releases.StageError{Stage: stage, Advice: releases.Next(err, t.From.Release), Cause: err})
	}
	return failure
}

// areReady reports whether all objects that are moved are ready in the receiver.
func (t *Transfer) areReady(result reconciler.Result) bool {
	for _, object := range t.Objects {
		if !slices.ContainsFunc(result.Inventory, func(item *reconciler.InventoryItem) bool { return item.Matches(object) && isDone(item) }) {
			return false
		}
	}
	return true
}

// concerns reports whether an error is caused by a moved object, or not by an object at all.
func (t *Transfer) concerns(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) == 1 {
		err = joined.Unwrap()[0]
	}
	notReady, ok := err.(*releases.NotReadyError) //nolint:errorlint // nothing else must have failed
	if !ok || notReady.Cause != nil {
		return err != nil
	}
	return slices.ContainsFunc(slices.Concat(notReady.Failed, notReady.Waits), func(notice reconciler.Notice) bool {
		return slices.ContainsFunc(t.Objects, func(object display.Object) bool { return object.Key() == display.KeyOf(notice.Object) })
	})
}

// beginBoth acquires the locks of both releases, always in the same order. done releases them.
func (t *Transfer) beginBoth(ctx context.Context, b *runner.Board, limits runner.Limits) (to, from *runner.Operation, done func(), err error) {
	first, second := t.To.Release, t.From.Release
	isSwapped := second.String() < first.String()
	if isSwapped {
		first, second = second, first
	}
	to, endFirst, err := runner.Begin(ctx, t.connection, first, b, limits)
	if err != nil {
		return nil, nil, nil, err
	}
	from, endSecond, err := runner.Begin(ctx, t.connection, second, b, limits)
	if err != nil {
		endFirst()
		return nil, nil, nil, err
	}
	if isSwapped {
		to, from = from, to
	}
	return to, from, func() {
		endSecond()
		endFirst()
	}, nil
}

// confirmOwner returns an error with the objects that still belong to the giver.
func (t *Transfer) confirmOwner(ctx context.Context) error {
	var left []string
	for _, object := range t.Objects {
		owner, err := releases.ReadOwner(ctx, t.connection.Client(), object)
		if err != nil {
			return err
		}
		if !owner.Is(releases.OwnerID(t.To.Release.Namespace, t.To.Release.Name)) {
			left = append(left, object.String())
		}
	}
	if len(left) > 0 {
		return releases.Refused("release %s has not adopted %v yet, because earlier waves are not ready; they still belong to release %s. To continue, run the same command again",
			t.To.Release, left, t.From.Release)
	}
	return nil
}

// Transfer is what will happen when objects are moved from one release to another.
type Transfer struct {
	// From gives the objects, To receives them.
	From, To *Plan
	// Objects are the objects to move.
	Objects []display.Object

	connection *runner.Connection
	// left is the number of objects whose move is not complete.
	left int
}

// Close stops watching the dependents.
func (t *Transfer) Close() {
	t.From.Close()
	t.To.Close()
}

// PlanMove plans to move objects, given as KIND[.GROUP]/[NAMESPACE/]NAME, from one release to another. If some were
// already moved, perhaps incompletely, it plans the remaining steps. The caller closes the plan.
func PlanMove(ctx context.Context, c *runner.Connection, from, to apitypes.NamespacedName, objects []string, compare bool) (*Transfer, error) {
	if from == to {
		return nil, releases.Refused("--from and --to name the same release, %s", from)
	}
	t := &Transfer{connection: c}
	var err error
	if t.From, err = Current(ctx, c, from.Namespace, from.Name); err != nil {
		return nil, err
	}
	if t.To, err = Current(ctx, c, to.Namespace, to.Name); err != nil {
		return nil, err
	}
	t.From.Operation, t.To.Operation = Move, Move
	leaving, err := t.choose(ctx, objects)
	if err != nil {
		return nil, err
	}
	if err := leaveOut(t.From, leaving, fmt.Sprintf("moved to release %s: %s", t.To.Release, objectTexts(leaving))); err != nil {
		return nil, err
	}
	if err = t.To.Compare(ctx, compare); err == nil {
		err = t.From.Compare(ctx, compare)
	}
	if err == nil {
		err = errors.Join(t.To.Unapproved(), t.From.Unapproved())
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// choose completes the plan of the receiver, and returns the objects that the giver still has.
func (t *Transfer) choose(ctx context.Context, texts []string) ([]dependent, error) {
	mapper := t.connection.Client().RESTMapper()
	had, err := dependentsOf(mapper, t.From)
	if err != nil {
		return nil, err
	}
	has, err := dependentsOf(mapper, t.To)
	if err != nil {
		return nil, err
	}
	both := slices.Clone(has)
	for _, p := range had {
		if findHeld(both, p) < 0 {
			both = append(both, p)
		}
	}
	found, err := runner.Resolve(t.connection.Client(), texts, both, runner.Scope{
		Name: fmt.Sprintf("releases %s and %s", t.From.Release, t.To.Release),
		Show: fmt.Sprintf("clm tree %s -n %s", t.From.Release.Name, t.From.Release.Namespace),
	})
	if err != nil {
		return nil, err
	}
	var leaving, coming []dependent
	for _, object := range found {
		owner, err := t.confirmMovable(ctx, object)
		if err != nil {
			return nil, err
		}
		t.Objects = append(t.Objects, object.Object)
		t.To.TakeOver(object.Object)
		at := findHeld(had, object)
		if at >= 0 {
			leaving = append(leaving, had[at])
		}
		there := findHeld(has, object)
		hasIt := there >= 0 && has[there].rendered >= 0
		if !t.isSettled(owner, at >= 0, hasIt) {
			t.left++
		}
		if hasIt {
			continue
		}
		if at < 0 || had[at].rendered < 0 {
			return nil, releases.Refused("%s is not part of the current revision of release %s, nor of that of release %s", object, t.From.Release, t.To.Release)
		}
		coming = append(coming, had[at])
	}
	forget(t.From.Release, leaving)
	return leaving, t.takeIn(coming)
}

// isSettled reports whether the move of an object is complete: the receiver owns it, and both releases have recorded
// that.
func (t *Transfer) isSettled(owner releases.OwnerMark, had, has bool) bool {
	return !had && has && owner.Is(releases.OwnerID(t.To.Release.Namespace, t.To.Release.Name))
}

// takeIn adds the objects to the revision of the receiver.
func (t *Transfer) takeIn(objects []dependent) error {
	if len(objects) == 0 {
		return nil
	}
	content := t.To.Content
	content.Manifest = slices.Clone(content.Manifest)
	for _, object := range objects {
		manifest := withPolicies(t.From.Content.Manifest[object.rendered], t.From.Revision.Policies, t.To.Revision.Policies)
		if object.Namespace != "" {
			manifest.SetNamespace(object.Namespace)
		}
		content.Manifest = append(content.Manifest, manifest)
		if item := object.item; item != nil && item.ReconcilePolicy == reconciler.ReconcilePolicyOnce {
			// The information that it was applied once must not get lost.
			t.To.Release.Inventory = append(t.To.Release.Inventory, item.DeepCopy())
		}
	}
	return t.To.Derive(content, fmt.Sprintf("moved from release %s: %s", t.From.Release, objectTexts(objects)))
}

// withPolicies returns a copy of an object with annotations that preserve the policies that it had in its former release.
func withPolicies(object *unstructured.Unstructured, from, to reconciler.Policies) *unstructured.Unstructured {
	further := map[string]string{}
	for _, policy := range []struct{ suffix, from, to string }{
		{types.AnnotationKeySuffixUpdatePolicy, string(from.Update), string(to.Update)},
		{types.AnnotationKeySuffixReconcilePolicy, string(from.Reconcile), string(to.Reconcile)},
		{types.AnnotationKeySuffixDeletePolicy, string(from.Delete), string(to.Delete)},
		{types.AnnotationKeySuffixPrunePolicy, string(from.Prune), string(to.Prune)},
		{types.AnnotationKeySuffixDriftPolicy, string(from.Drift), string(to.Drift)},
	} {
		name, former := releases.ReconcilerName+"/"+policy.suffix, annotations.Kebab(policy.from)
		if object.GetAnnotations()[name] == "" && former != annotations.Kebab(policy.to) && former != "" {
			further[name] = former
		}
	}
	return annotated(object, further)
}

// confirmMovable returns the owner of an object, or an error if the object cannot be moved.
func (t *Transfer) confirmMovable(ctx context.Context, object dependent) (releases.OwnerMark, error) {
	owner, err := releases.ReadOwner(ctx, t.connection.Client(), object)
	switch {
	case apierrors.IsNotFound(err):
		return owner, releases.Refused("%s does not exist, so there is nothing to move", object)
	case err != nil:
		return owner, err
	}
	for _, release := range []*releases.Release{t.From.Release, t.To.Release} {
		if owner.Is(releases.OwnerID(release.Namespace, release.Name)) {
			return owner, nil
		}
	}
	return owner, releases.Refused("%s belongs to %s, not to release %s or release %s", object, owner, t.From.Release, t.To.Release)
}
