// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// DefaultPause is the time for which one instance of the API server must enforce a barrier before all instances are
	// assumed to enforce it.
	DefaultPause = 3 * time.Second
	// probeInterval is the time between two checks whether a new barrier is enforced, which takes up to two seconds.
	probeInterval = time.Second
	// enforceTimeout is how long a new barrier may take to be enforced before it is applied again.
	enforceTimeout = 10 * time.Second

	// Awaited is the message of an object that waits for its barrier.
	Awaited = "making sure that no instance of its type is created while it is being deleted"
)

// Barriers creates and removes the barriers of one owner, for one call. It is safe for concurrent use about different
// items.
type Barriers struct {
	Server *execute.Server
	Report *decide.Reporter
	Memory decide.OwnerMemory
	Owner  decide.Owner
	Items  []*inventory.Item // of the owner
	Name   string            // of the reconciler
	// Pause is how long a barrier must be enforced before the CustomResourceDefinition is deleted.
	Pause time.Duration

	reached sync.Map // items with a barrier that the pass has come to
}

// For returns the barrier that must be in force before the object is deleted; nil if it needs none, or cannot have one.
func (bs *Barriers) For(item *inventory.Item, uid apitypes.UID) *Barrier {
	if !prepare.IsCRD(item.GroupVersionKind().GroupKind()) {
		return nil
	}
	b := newBarrier(bs.Name, bs.Owner.ID, item, uid)
	if b == nil {
		return nil
	}
	if recalled := bs.Memory.Peek(types.IDOf(item)); recalled != nil && recalled.Barrier.Name == b.name && recalled.Barrier.Missing != "" {
		return nil
	}
	return b
}

// Await reports whether the object must wait because the recorded barrier has not been enforced for long enough. It
// removes a recorded barrier that belongs to a former object of that name.
func (bs *Barriers) Await(ctx context.Context, item *inventory.Item, b *Barrier) (awaited bool, err error) {
	if item.Barrier == "" {
		return false, nil
	}
	if b == nil || item.Barrier != b.name {
		return false, bs.Lift(ctx, item)
	}
	state := bs.Memory.Of(types.IDOf(item)).Barrier
	if state.Name != b.name {
		state = decide.Barrier{Name: b.name}
	}
	var enforced bool
	if !state.Raised.IsZero() {
		if enforced, err = bs.isEnforced(ctx, b); err != nil {
			return false, bs.doWithout(ctx, item, b, err)
		}
	}
	state, step := nextStep(state, enforced, bs.Server.Clock.Now(), bs.Pause)
	if step.raise {
		if err := bs.raise(ctx, b); err != nil {
			return false, bs.doWithout(ctx, item, b, err)
		}
	}
	bs.Memory.Of(types.IDOf(item)).Barrier = state
	if step.inForce {
		return false, nil
	}
	bs.Report.RequeueAfter(step.wait)
	return true, nil
}

// step is the next step with a barrier.
type step struct {
	inForce bool          // it has been enforced for long enough
	raise   bool          // apply its objects
	wait    time.Duration // check again after this time
}

// nextStep returns the next step with a barrier, given whether the API server enforces it now. It is a pure function.
func nextStep(state decide.Barrier, enforced bool, now time.Time, pause time.Duration) (decide.Barrier, step) {
	switch {
	case !enforced && (state.Raised.IsZero() || now.Sub(state.Raised) >= enforceTimeout):
		state.Raised, state.Enforced = now, time.Time{}
		return state, step{raise: true, wait: probeInterval}
	case !enforced:
		state.Enforced = time.Time{}
		return state, step{wait: probeInterval}
	case state.Enforced.IsZero():
		state.Enforced = now
		return state, step{wait: pause}
	case now.Sub(state.Enforced) < pause:
		return state, step{wait: state.Enforced.Add(pause).Sub(now)}
	default:
		return state, step{inForce: true}
	}
}

// Record records a barrier in an item. The caller must save the inventory before it calls PutUp.
func (bs *Barriers) Record(item *inventory.Item, b *Barrier) {
	item.Barrier = b.name
	bs.Reach(item)
}

// PutUp applies a recorded barrier, and reports whether it has to be awaited. An object that cannot have a barrier need
// not wait.
func (bs *Barriers) PutUp(ctx context.Context, item *inventory.Item, b *Barrier) (awaited bool, err error) {
	bs.Memory.Of(types.IDOf(item)).Barrier = decide.Barrier{Name: b.name}
	if awaited, err = bs.Await(ctx, item, b); err != nil {
		return false, fmt.Errorf("applying the deletion barrier of %s: %w", types.IDOf(item), err)
	}
	return awaited, nil
}

// doWithout records that the object cannot have a barrier if the error means that; otherwise it returns the error.
// Without a barrier, the object is deleted as soon as it has no instances.
func (bs *Barriers) doWithout(ctx context.Context, item *inventory.Item, b *Barrier, err error) error {
	var reason string
	switch {
	case execute.IsTypeless(err):
		reason = "the API server has no ValidatingAdmissionPolicies"
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), execute.IsNoDryRun(err), execute.IsNotFound(err):
		reason = err.Error()
	default:
		return err
	}
	if err := bs.Lift(ctx, item); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	item.Barrier = ""
	bs.Memory.Of(types.IDOf(item)).Barrier = decide.Barrier{Name: b.name, Missing: reason}
	bs.Report.Notes(item, texts.Truncate("is deleted without a barrier, so instances that are created at the same time will be lost: "+reason, 500))
	return nil
}

// Reach records that the pass has reached an item, and so decides about its barrier itself.
func (bs *Barriers) Reach(item *inventory.Item) {
	if item.Barrier != "" {
		bs.reached.Store(item, true)
	}
}

// LiftUnreached removes, at the end of a pass, the barriers of items that the pass did not reach because it waits for
// something else. A later pass applies them again. The barrier of an object whose deletion was requested stays, since
// the object will be gone; so do all barriers if another process works for the owner now. It returns the error of the
// pass, joined with its own.
func (bs *Barriers) LiftUnreached(ctx context.Context, reason error) error {
	if execute.Is[*inventory.FencedError](reason) {
		return reason
	}
	for _, item := range bs.Items {
		if _, reached := bs.reached.Load(item); reached || item.Barrier == "" || item.Phase == inventory.PhaseDeleting {
			continue
		}
		if err := bs.Lift(ctx, item); err != nil {
			return execute.Join(reason, err)
		}
	}
	return reason
}

// isEnforced reports whether the API server enforces the barrier. It makes a dry run that creates a ConfigMap with the
// name of the barrier, which nothing but the barrier denies. If the request fails for another reason in one namespace,
// it tries the next.
func (bs *Barriers) isEnforced(ctx context.Context, b *Barrier) (bool, error) {
	var reason error
	for _, namespace := range []string{bs.Owner.Namespace, metav1.NamespaceDefault} {
		if namespace == "" {
			continue
		}
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: b.name}}
		err := bs.Server.Read(func() error {
			return bs.Server.Client.Create(ctx, probe, client.DryRunAll, client.FieldOwner(bs.Server.FieldOwner))
		})
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
			return false, nil
		case execute.DeniedBy(err, b.name):
			return true, nil
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsInvalid(err), execute.IsNoDryRun(err):
			reason = err
		default:
			return false, fmt.Errorf("checking whether the barrier %s is enforced: %w", b.name, err)
		}
	}
	return false, fmt.Errorf("checking whether the barrier %s is enforced: %w", b.name, reason)
}

// Barrier denies creating instances of a type whose CustomResourceDefinition is about to be deleted. It consists of a
// ValidatingAdmissionPolicy and its binding, which have the same name.
type Barrier struct {
	name          string
	definition    string // name of the CustomResourceDefinition
	uid           apitypes.UID
	plural, group string // of the instances
}

// newBarrier returns the barrier for a CustomResourceDefinition; nil if the item does not have the name of one, or
// without a UID. Its name contains a hash of the UID, so that the known state of a barrier for a former
// CustomResourceDefinition of that name is not reused.
func newBarrier(reconcilerName, ownerID string, item *inventory.Item, uid apitypes.UID) *Barrier {
	plural, group, ok := strings.Cut(item.Name, ".")
	if !ok || uid == "" {
		return nil
	}
	return &Barrier{
		name:       execute.BarrierPrefix + manifest.OwnerLabel(strings.Join([]string{reconcilerName, ownerID, item.Name, string(uid)}, "\n")),
		definition: item.Name,
		uid:        uid,
		plural:     plural,
		group:      group,
	}
}

func barrierKinds() (policy, binding schema.GroupVersionKind) {
	version := schema.GroupVersion{Group: prepare.GroupWebhook, Version: "v1"}
	return version.WithKind("ValidatingAdmissionPolicy"), version.WithKind("ValidatingAdmissionPolicyBinding")
}

// objects returns the policy and the binding. The policy matches only requests that it denies: instances of the type,
// and ConfigMaps with the name of the barrier. The owner reference lets garbage collection remove it after the
// CustomResourceDefinition.
func (b *Barrier) objects(of *Barriers) []*unstructured.Unstructured {
	policyKind, bindingKind := barrierKinds()
	build := func(kind schema.GroupVersionKind, spec map[string]any) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		object.SetGroupVersionKind(kind)
		object.SetName(b.name)
		object.SetLabels(map[string]string{of.Server.Keys.BarrierLabel: of.Server.Label})
		object.SetAnnotations(map[string]string{of.Server.Keys.OwnerAnnotation: of.Owner.ID})
		object.SetOwnerReferences([]metav1.OwnerReference{
			{APIVersion: prepare.GroupCRD + "/v1", Kind: "CustomResourceDefinition", Name: b.definition, UID: b.uid},
		})
		return object
	}
	policy := map[string]any{
		"failurePolicy": "Fail",
		"matchConstraints": map[string]any{"resourceRules": []any{
			map[string]any{
				"apiGroups": []any{b.group}, "apiVersions": []any{"*"}, "resources": []any{b.plural}, "operations": []any{"CREATE"},
			},
			map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}, "operations": []any{"CREATE"},
				"resourceNames": []any{b.name},
			},
		}},
		"validations": []any{map[string]any{
			"expression": "false",
			"reason":     "Forbidden",
			"message": fmt.Sprintf("CustomResourceDefinition %s is being deleted by %s (%s); instances that are created now would be lost",
				b.definition, of.Name, of.Owner.ID),
		}},
	}
	return []*unstructured.Unstructured{
		build(policyKind, policy),
		build(bindingKind, map[string]any{"policyName": b.name, "validationActions": []any{"Deny"}}),
	}
}

// raise applies the objects of a barrier. No other client has objects with these names.
func (bs *Barriers) raise(ctx context.Context, b *Barrier) error {
	for _, object := range b.objects(bs) {
		err := bs.Server.Mutate("update", func() error {
			return bs.Server.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(bs.Server.FieldOwner))
		})
		if err != nil {
			return fmt.Errorf("applying %s: %w", types.IDOf(object).String(), err)
		}
	}
	return nil
}

// Lift removes the recorded barrier. It makes no request if none is recorded.
func (bs *Barriers) Lift(ctx context.Context, item *inventory.Item) error {
	if item.Barrier == "" {
		return nil
	}
	policy, binding := barrierKinds()
	for _, kind := range []schema.GroupVersionKind{binding, policy} {
		if err := bs.liftOne(ctx, kind, item.Barrier); err != nil {
			return fmt.Errorf("removing the deletion barrier of %s: %w", types.IDOf(item), err)
		}
	}
	item.Barrier = ""
	bs.Memory.Of(types.IDOf(item)).Barrier = decide.Barrier{}
	return nil
}

func (bs *Barriers) liftOne(ctx context.Context, kind schema.GroupVersionKind, name string) (err error) {
	for range execute.MaxAttempts {
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(kind)
		err = bs.Server.Read(func() error { return bs.Server.Client.Get(ctx, client.ObjectKey{Name: name}, live) })
		switch {
		case execute.IsGone(err):
			return nil
		case err != nil:
			return fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
		case live.GetLabels()[bs.Server.Keys.BarrierLabel] != bs.Server.Label:
			return nil
		}
		err = bs.Server.Mutate("delete", func() error {
			return bs.Server.Client.Delete(ctx, live, client.Preconditions{UID: new(live.GetUID()), ResourceVersion: new(live.GetResourceVersion())})
		})
		if !execute.IsOutdated(err) {
			break
		}
	}
	if execute.IsGone(err) {
		return nil
	}
	return err
}
