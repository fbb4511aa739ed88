// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// An apply request merges the manifest with what others and the server itself have set. So the API server may reject
// the result although it would accept the manifest: another client has renamed a port, or a default does not go with a
// new value. Then the object is replaced by its manifest, if the update policy permits that. If that is rejected as
// well, a field cannot be changed.

// Remedy is what helps after the API server has rejected an apply request as invalid.
type Remedy int

const (
	// Replaced means that the object was replaced by its manifest, which can be applied now.
	Replaced Remedy = iota
	// Recreation means that the object cannot be updated, and may be recreated if ProbeCreation permits it.
	Recreation
)

// Remedy replaces an observed object for which the API server has rejected an apply request (cause), and returns the
// response. The error is the cause if nothing helps.
func (x *Executor) Remedy(ctx context.Context, t *prepare.Object, item *inventory.Item, s decide.Situation, cause error) (Remedy, *unstructured.Unstructured, error) {
	live, err := x.readUnchanged(ctx, item, s)
	if apierrors.IsForbidden(err) {
		return 0, nil, cause
	}
	if err != nil {
		return 0, nil, err
	}
	object, kept, err := x.replacement(t, item, s, live)
	if err != nil {
		return 0, nil, err
	}
	options := []client.UpdateOption{client.FieldOwner(x.Server.FieldOwner)}
	if len(kept) > 0 {
		options = append(options, client.DryRunAll)
	}
	err = x.Server.Mutate("update", func() error { return x.Server.Client.Update(ctx, object, options...) })
	switch {
	case err == nil && len(kept) == 0:
		return Replaced, object, nil
	case err == nil:
		return 0, nil, fmt.Errorf("%w; the fields %s, which others have set, do not go with the manifest: remove them, or use the update policy replace", cause, FieldTexts(kept))
	case apierrors.IsForbidden(err), IsInvalid(err) && !s.MayRecreate(t):
		return 0, nil, cause
	case !IsInvalid(err):
		return 0, nil, err
	default:
		return Recreation, nil, nil
	}
}

// readUnchanged reads an observed object. The error is a conflict if it has changed.
func (x *Executor) readUnchanged(ctx context.Context, item *inventory.Item, s decide.Situation) (*unstructured.Unstructured, error) {
	live, err := x.Server.Get(ctx, item)
	if IsGone(err) || err == nil && (live.GetUID() != s.Seen.UID || live.GetResourceVersion() != s.Seen.ResourceVersion) {
		resource := schema.GroupResource{Group: item.Group, Resource: item.Kind}
		return nil, apierrors.NewConflict(resource, item.Name, errors.New("it has changed since it was observed"))
	}
	return live, err
}

// replacement returns the object that replaces the live one: the manifest, what Kubernetes maintains, and labels and
// annotations of others that the update policy keeps. Kept are other fields that the policy keeps, and that it does not
// have.
func (x *Executor) replacement(
	t *prepare.Object, item *inventory.Item, s decide.Situation, live *unstructured.Unstructured,
) (object *unstructured.Unstructured, kept []fieldpath.Path, err error) {
	if object, err = x.Desired(t, item, s, live); err != nil {
		return nil, nil, err
	}
	object = object.DeepCopy()
	all, err := x.othersFields(t, live, func(string) bool { return true })
	if err != nil {
		return nil, nil, err
	}
	reclaimed, err := x.othersFields(t, live, func(manager string) bool { return x.Reclaims(t.Update, manager) })
	if err != nil {
		return nil, nil, err
	}
	others, err := fieldset.InOtherVersions(t.Key.GroupKind, live.GetManagedFields(), x.Server.FieldOwner, live.GetAPIVersion())
	if err != nil {
		return nil, nil, fmt.Errorf("reading the fields of %s: %w", t.Key, err)
	}
	kept = slices.DeleteFunc(append(all, others...), func(path fieldpath.Path) bool {
		return fieldset.IsWithin(path, reclaimed) || fieldset.Exists(object.Object, path)
	})
	spared := slices.Concat(t.IgnoreFields, kept)
	kept = fieldset.Outside(kept, "metadata")
	if err := fieldset.Carry(t.Key.GroupKind, live.Object, object.Object, live.GetManagedFields(), spared...); err != nil {
		return nil, nil, fmt.Errorf("reading the fields of %s: %w", t.Key, err)
	}
	object.SetUID(live.GetUID())
	object.SetResourceVersion(live.GetResourceVersion())
	if len(object.GetOwnerReferences()) == 0 {
		object.SetOwnerReferences(live.GetOwnerReferences())
	}
	foreign := x.Finalizers.Without(live.GetFinalizers())
	object.SetFinalizers(slices.Compact(slices.Sorted(slices.Values(slices.Concat(object.GetFinalizers(), foreign)))))
	return object, kept, nil
}

// othersFields returns the fields of an object that only managers have whose fields are reclaimed, and that need not
// stay.
func (x *Executor) othersFields(t *prepare.Object, live *unstructured.Unstructured, reclaim func(manager string) bool) ([]fieldpath.Path, error) {
	fields, err := fieldset.Surplus(t.Key.GroupKind, live.GetManagedFields(), x.Server.FieldOwner, reclaim, t.IgnoreFields...)
	if err != nil {
		return nil, fmt.Errorf("reading the fields of %s: %w", t.Key, err)
	}
	return fields, nil
}

// ProbeCreation returns the error with which the API server would reject the manifest if it had to create the object
// now. The object may exist: what does not fit is rejected before the server finds that out. What is missing only
// because the object exists, such as quota, does not count.
func (x *Executor) ProbeCreation(ctx context.Context, t *prepare.Object, item *inventory.Item) error {
	object, err := x.Desired(t, item, decide.Situation{}, nil)
	if err != nil {
		return err
	}
	object = object.DeepCopy()
	err = x.Server.Read(func() error {
		return x.Server.Client.Create(ctx, object, client.DryRunAll, client.FieldOwner(x.Server.FieldOwner))
	})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), IsNoDryRun(err),
		apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"),
		apierrors.IsInvalid(err) && strings.Contains(err.Error(), "already allocated"):
		return nil
	default:
		return fmt.Errorf("it has to be recreated, which would fail: %w", err)
	}
}

// restoredAccount returns the fields of a pod template that name a ServiceAccount, although the manifest has dropped
// it, and nobody else declares it: the deprecated field serviceAccount, which the API server adds, brings it back.
func (x *Executor) restoredAccount(t *prepare.Object, object *unstructured.Unstructured) ([]fieldpath.Path, error) {
	pod, ok := podSpecs[t.Key.GroupKind]
	if !ok {
		return nil, nil
	}
	fields := []fieldpath.Path{append(slices.Clone(pod), fieldName("serviceAccountName")), append(slices.Clone(pod), fieldName("serviceAccount"))}
	manifest, err := x.Manifests.Of(t)
	if err != nil {
		return nil, err
	}
	for _, field := range fields {
		if !fieldset.Exists(object.Object, field) || fieldset.Exists(manifest.Object, field) || fieldset.IsWithin(field, t.IgnoreFields) {
			return nil, nil
		}
	}
	holders, err := fieldset.Holders(object.GetManagedFields(), fields, "")
	if err != nil || len(holders) > 0 {
		return nil, err //nolint:wrapcheck // it names the field manager
	}
	return fields, nil
}

// podSpecs are the paths of pod templates' specs.
var podSpecs = map[schema.GroupKind]fieldpath.Path{
	{Group: "apps", Kind: "Deployment"}:        fieldpath.MakePathOrDie("spec", "template", "spec"),
	{Group: "apps", Kind: "StatefulSet"}:       fieldpath.MakePathOrDie("spec", "template", "spec"),
	{Group: "apps", Kind: "DaemonSet"}:         fieldpath.MakePathOrDie("spec", "template", "spec"),
	{Group: "apps", Kind: "ReplicaSet"}:        fieldpath.MakePathOrDie("spec", "template", "spec"),
	{Group: "batch", Kind: "Job"}:              fieldpath.MakePathOrDie("spec", "template", "spec"),
	{Group: "batch", Kind: "CronJob"}:          fieldpath.MakePathOrDie("spec", "jobTemplate", "spec", "template", "spec"),
	{Group: "", Kind: "ReplicationController"}: fieldpath.MakePathOrDie("spec", "template", "spec"),
}

func fieldName(name string) fieldpath.PathElement { return fieldpath.PathElement{FieldName: &name} }

// Same compares two states of one object, apart from the metadata that the server changes with each write.
func Same(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, object := range []*unstructured.Unstructured{a, b} {
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		object.SetGeneration(0)
	}
	return reflect.DeepEqual(a.Object, b.Object)
}
