// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/digest"
)

// barrierPrefix is what the names of all barriers begin with, whoever puts them up.
const barrierPrefix = "deletion-barrier-"

// barrier denies creating instances of a type whose definition is about to be deleted. It consists of a ValidatingAdmissionPolicy and
// its binding, which have the same name.
type barrier struct {
	name          string
	definition    string // name of the CustomResourceDefinition
	uid           apitypes.UID
	plural, group string // of the instances
}

// newBarrier returns the barrier for a CustomResourceDefinition. Its name is another one if the CustomResourceDefinition is created
// anew, so that what is seen of one barrier says nothing about another. It is nil if the name is not that of a CustomResourceDefinition.
func newBarrier(reconcilerName, ownerID string, item *InventoryItem, uid apitypes.UID) *barrier {
	plural, group, ok := strings.Cut(item.Name, ".")
	if !ok || uid == "" {
		return nil
	}
	return &barrier{
		name:       barrierPrefix + digest.OwnerLabel(strings.Join([]string{reconcilerName, ownerID, item.Name, string(uid)}, "\n")),
		definition: item.Name,
		uid:        uid,
		plural:     plural,
		group:      group,
	}
}

func barrierKinds() (policy, binding schema.GroupVersionKind) {
	version := schema.GroupVersion{Group: groupWebhook, Version: "v1"}
	return version.WithKind("ValidatingAdmissionPolicy"), version.WithKind("ValidatingAdmissionPolicyBinding")
}

// objects returns what the barrier consists of. No expression is evaluated for anything but what is denied: the only ConfigMaps that
// match are those of the name of the barrier. The owner reference has it removed with the CustomResourceDefinition even if nobody else does.
func (b *barrier) objects(p *pass) []*unstructured.Unstructured {
	policyKind, bindingKind := barrierKinds()
	build := func(kind schema.GroupVersionKind, spec map[string]any) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		object.SetGroupVersionKind(kind)
		object.SetName(b.name)
		object.SetLabels(map[string]string{p.keys.barrierLabel: p.label})
		object.SetAnnotations(map[string]string{p.keys.ownerAnnotation: p.owner.ID})
		object.SetOwnerReferences([]metav1.OwnerReference{
			{APIVersion: groupCRD + "/v1", Kind: "CustomResourceDefinition", Name: b.definition, UID: b.uid},
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
				b.definition, p.name, p.owner.ID),
		}},
	}
	return []*unstructured.Unstructured{
		build(policyKind, policy),
		build(bindingKind, map[string]any{"policyName": b.name, "validationActions": []any{"Deny"}}),
	}
}

// raise puts up a barrier, or puts right what there is of it.
func (p *pass) raise(ctx context.Context, b *barrier) error {
	for _, object := range b.objects(p) {
		if err := p.raiseOne(ctx, object); err != nil {
			return fmt.Errorf("putting up %s: %w", objectText(object), err)
		}
	}
	return nil
}

func (p *pass) raiseOne(ctx context.Context, wanted *unstructured.Unstructured) error {
	send := func(operation string, object *unstructured.Unstructured) error {
		return p.mutate(operation, func() error {
			return p.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(p.options.FieldOwner))
		})
	}
	object := wanted.DeepCopy()
	object.SetResourceVersion(createOnly)
	err := send("create", object)
	for range maxAttempts {
		if !isOutdated(err) {
			return err
		}
		live, err := p.barrierObject(ctx, wanted.GroupVersionKind(), wanted.GetName())
		switch {
		case err != nil:
			return err
		case live == nil:
			// It is looked for again when it turns out that nothing is enforced.
			return nil
		case live.GetLabels()[p.keys.barrierLabel] != p.label:
			return refused(objectText(wanted) + ": exists, and is not ours")
		}
		object = wanted.DeepCopy()
		object.SetUID(live.GetUID())
		object.SetResourceVersion(live.GetResourceVersion())
		if err := send("update", object); !isOutdated(err) {
			return err
		}
	}
	return err
}

// barrierObject reads one of the objects of a barrier; nil if there is none.
func (p *pass) barrierObject(ctx context.Context, kind schema.GroupVersionKind, name string) (*metav1.PartialObjectMetadata, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	err := p.read(func() error { return p.client.Get(ctx, client.ObjectKey{Name: name}, live) })
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	return live, nil
}

// lift removes the barrier that is recorded. It makes no request if none is.
func (p *pass) lift(ctx context.Context, item *InventoryItem) error {
	if item.Barrier == "" {
		return nil
	}
	policy, binding := barrierKinds()
	for _, kind := range []schema.GroupVersionKind{binding, policy} {
		if err := p.liftOne(ctx, kind, item.Barrier); err != nil {
			return fmt.Errorf("allowing again to create instances of %s: %w", keyOf(item), err)
		}
	}
	item.Barrier = ""
	p.memory.of(p.owner.ID, keyOf(item)).barrier = barrierState{}
	return nil
}

func (p *pass) liftOne(ctx context.Context, kind schema.GroupVersionKind, name string) (err error) {
	for range maxAttempts {
		live, readErr := p.barrierObject(ctx, kind, name)
		if readErr != nil || live == nil || live.GetLabels()[p.keys.barrierLabel] != p.label {
			return readErr
		}
		uid, version := live.GetUID(), live.GetResourceVersion()
		err = p.mutate("delete", func() error {
			return p.client.Delete(ctx, live, client.Preconditions{UID: &uid, ResourceVersion: &version})
		})
		if !isOutdated(err) {
			break
		}
	}
	if isGone(err) {
		return nil
	}
	return err
}
