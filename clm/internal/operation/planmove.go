// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Transfer is what will happen when objects are moved from one release to another.
type Transfer struct {
	// From gives the objects, To receives them.
	From, To *Plan
	// Objects are those that are moved.
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

// MoveRequest says which objects to move from which release to which other one.
type MoveRequest struct {
	From, To apitypes.NamespacedName
	// Objects as KIND[.GROUP]/[NAMESPACE/]NAME.
	Objects []string
}

// PlanMove plans to move objects. If some were moved already, perhaps incompletely, it plans what is left to be done.
// The caller closes the plan.
func PlanMove(ctx context.Context, c *runner.Connection, request MoveRequest, compare bool) (*Transfer, error) {
	if request.From == request.To {
		return nil, releases.Refused("--from and --to name the same release, %s", request.From)
	}
	t := &Transfer{connection: c}
	var err error
	if t.From, err = Current(ctx, c, request.From.Namespace, request.From.Name); err != nil {
		return nil, err
	}
	if t.To, err = Current(ctx, c, request.To.Namespace, request.To.Name); err != nil {
		return nil, err
	}
	t.From.Operation, t.To.Operation = Move, Move
	leaving, err := t.choose(ctx, request.Objects)
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
		manifest := t.From.Content.Manifest[object.rendered].DeepCopy()
		if object.Namespace != "" {
			manifest.SetNamespace(object.Namespace)
		}
		manifest.SetAnnotations(withPolicies(manifest.GetAnnotations(), t.From.Revision.Policies, t.To.Revision.Policies))
		content.Manifest = append(content.Manifest, manifest)
		if item := object.item; item != nil && item.ReconcilePolicy == reconciler.ReconcilePolicyOnce {
			// The record that it was applied once must not get lost.
			t.To.Release.Inventory = append(t.To.Release.Inventory, item.DeepCopy())
		}
	}
	return t.To.Derive(content, fmt.Sprintf("moved from release %s: %s", t.From.Release, objectTexts(objects)))
}

// withPolicies returns annotations that preserve the policies that an object had in its former release.
func withPolicies(given map[string]string, from, to reconciler.Policies) map[string]string {
	for _, policy := range []struct{ suffix, from, to string }{
		{types.AnnotationKeySuffixUpdatePolicy, string(from.Update), string(to.Update)},
		{types.AnnotationKeySuffixReconcilePolicy, string(from.Reconcile), string(to.Reconcile)},
		{types.AnnotationKeySuffixDeletePolicy, string(from.Delete), string(to.Delete)},
		{types.AnnotationKeySuffixPrunePolicy, string(from.Prune), string(to.Prune)},
		{types.AnnotationKeySuffixDriftPolicy, string(from.Drift), string(to.Drift)},
	} {
		name := releases.ReconcilerName + "/" + policy.suffix
		if given[name] != "" || annotations.Kebab(policy.from) == annotations.Kebab(policy.to) || policy.from == "" {
			continue
		}
		if given == nil {
			given = map[string]string{}
		}
		given[name] = annotations.Kebab(policy.from)
	}
	return given
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
