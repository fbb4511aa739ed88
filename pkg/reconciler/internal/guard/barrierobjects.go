// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Barrier denies creating instances of a type whose CustomResourceDefinition is about to be deleted. It consists of a
// ValidatingAdmissionPolicy and its binding, which have the same name.
type Barrier struct {
	name          string
	definition    string // name of the CustomResourceDefinition
	uid           apitypes.UID
	plural, group string // of the instances
}

// newBarrier returns the barrier for a CustomResourceDefinition; nil if the item has not the name of one. Its name
// contains a hash of the UID, so that what is known about the barrier of a former CustomResourceDefinition of that name
// does not count for this one.
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

// raise applies the objects of a barrier. Nobody else has objects of these names.
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

// barrierObject reads one of the objects of a barrier; nil if it does not exist.
func (bs *Barriers) barrierObject(ctx context.Context, kind schema.GroupVersionKind, name string) (*metav1.PartialObjectMetadata, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	err := bs.Server.Read(func() error { return bs.Server.Client.Get(ctx, client.ObjectKey{Name: name}, live) })
	if execute.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	return live, nil
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
		live, readErr := bs.barrierObject(ctx, kind, name)
		if readErr != nil || live == nil || live.GetLabels()[bs.Server.Keys.BarrierLabel] != bs.Server.Label {
			return readErr
		}
		uid, version := live.GetUID(), live.GetResourceVersion()
		err = bs.Server.Mutate("delete", func() error {
			return bs.Server.Client.Delete(ctx, live, client.Preconditions{UID: &uid, ResourceVersion: &version})
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
