// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// marks returns the labels and annotations of a dependent.
func (x *Executor) marks(t *prepare.Object) (labels, annotations map[string]string) {
	annotations = map[string]string{x.Server.Keys.OwnerAnnotation: x.Owner.ID, x.Server.Keys.Digest: t.Digest}
	if t.Ordered {
		// A lost record is rebuilt from it. It is not part of the digest.
		annotations[x.Server.Keys.Prefix+types.AnnotationKeySuffixDeleteOrder] = strconv.Itoa(t.DeleteOrder)
	}
	return map[string]string{x.Server.Keys.OwnerLabel: x.Owner.Label}, annotations
}

// SetMarks adds the labels and annotations of a dependent to an object, without a request.
func (x *Executor) SetMarks(object *unstructured.Unstructured, t *prepare.Object) {
	labels, annotations := x.marks(t)
	object.SetLabels(overlay(object.GetLabels(), labels))
	object.SetAnnotations(overlay(object.GetAnnotations(), annotations))
}

// overlay returns all entries; recent ones replace others.
func overlay(entries, recent map[string]string) map[string]string {
	result := make(map[string]string, len(entries)+len(recent))
	maps.Copy(result, entries)
	maps.Copy(result, recent)
	return result
}

// Apply makes the apply request. It creates a missing namespace if the policy permits that, omits fields unknown to the
// server, and reports the server's warnings.
func (x *Executor) Apply(ctx context.Context, t *prepare.Object, item *inventory.Item, s decide.Situation, action decide.Action) (*unstructured.Unstructured, error) {
	live, err := x.read(ctx, t, item, s, action)
	if err != nil {
		return nil, err
	}
	object, err := x.Desired(t, item, s, live)
	if err != nil {
		return nil, err
	}
	operation := "update"
	if action == decide.Create {
		object.SetResourceVersion(CreateOnly)
		operation = "create"
	} else {
		object.SetUID(s.Seen.UID)
		object.SetResourceVersion(s.Seen.ResourceVersion)
	}
	collector := &clients.Collector{}
	ctx = clients.WithWarnings(ctx, collector)
	for created := false; ; {
		// The response replaces the content of the object; an error does not change it.
		err := x.Server.Mutate(operation, func() error {
			return x.Server.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(x.Server.FieldOwner))
		})
		switch {
		case err == nil:
			for _, warning := range collector.Warnings() {
				x.Report.Notes(item, warning)
			}
			return object, nil
		case x.CreateNamespaces && lacksNamespace(err):
			if created {
				return nil, fmt.Errorf("namespace %s was deleted right after its creation", t.Key.Namespace)
			}
			if err := x.createNamespace(ctx, t.Key.Namespace); err != nil {
				return nil, err
			}
			created = true
		default:
			unknown := Undeclared(err)
			if len(unknown) == 0 {
				return nil, err
			}
			if object = object.DeepCopy(); !Prune(object, unknown) {
				return nil, err
			}
			x.Report.Notes(item, inventory.UnknownFieldsNote+strings.Join(unknown, ", "))
		}
	}
}

// read reads the observed object if fields of it may belong to others; otherwise it returns nil. The error is a
// conflict if the object has changed.
func (x *Executor) read(ctx context.Context, t *prepare.Object, item *inventory.Item, s decide.Situation, action decide.Action) (*unstructured.Unstructured, error) {
	if len(t.IgnoreFields) == 0 || action == decide.Create {
		return nil, nil
	}
	return x.readUnchanged(ctx, item, s)
}

// marked returns the manifest with the marks of the owner. Callers may change its metadata only; the rest is shared
// with the manifest.
func (x *Executor) marked(t *prepare.Object) (*unstructured.Unstructured, error) {
	manifest, err := x.Manifests.Of(t)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: maps.Clone(manifest.Object)}
	if metadata, ok := object.Object["metadata"].(map[string]any); ok {
		object.Object["metadata"] = maps.Clone(metadata)
	}
	x.SetMarks(object, t)
	if prepare.DefinesTypes(t.Key.GroupKind) && x.Finalizers.Current != "" {
		controllerutil.AddFinalizer(object, x.Finalizers.Current)
	}
	return object, nil
}

// Desired returns the manifest to apply to the observed object. An object whose outcome has to be recorded has our
// finalizer until then. Ignored fields that others own in the live object are omitted; live is needed only if there are
// ignored fields.
func (x *Executor) Desired(t *prepare.Object, item *inventory.Item, s decide.Situation, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object, err := x.marked(t)
	if err != nil {
		return nil, err
	}
	if object, err = x.withoutCeded(object, t, item, live); err != nil {
		return nil, err
	}
	recorded := s.Exists && item.Phase == inventory.PhaseReady && !x.Holds(s)
	// An object that has already ended, such as a hook taken over from another operator, needs no finalizer until that
	// is recorded.
	ended := s.Exists && s.Seen.Status == status.CurrentStatus && t.RemovesItself && t.PurgeOrder == nil && !x.Holds(s)
	if t.Decisive && x.Retains && !recorded && !ended {
		controllerutil.AddFinalizer(object, x.Finalizers.Outcome)
	}
	return object, nil
}

// withoutCeded returns an object without the ignored fields that others own, or have removed, in the live object.
func (x *Executor) withoutCeded(object *unstructured.Unstructured, t *prepare.Object, item *inventory.Item, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	// A suspended form keeps all its fields.
	if live == nil || len(t.IgnoreFields) == 0 || t.Suspended {
		return object, nil
	}
	ceded, err := fieldset.Ceded(live.GetManagedFields(), x.Server.FieldOwner, t.IgnoreFields)
	if err != nil {
		return nil, fmt.Errorf("reading the fields of %s: %w", t.Key, err)
	}
	if item.Phase != inventory.PhaseScheduledForApplication {
		// We have written all fields; others have removed those that are missing.
		ceded = append(ceded, fieldset.Missing(live.Object, t.IgnoreFields)...)
	}
	object = object.DeepCopy()
	fieldset.Remove(object.Object, ceded, nil)
	return object, nil
}

// Holds reports whether the observed object has our finalizer.
func (x *Executor) Holds(s decide.Situation) bool {
	return s.Exists && x.Finalizers.On(strings.Split(s.Seen.Finalizers, ","))
}

// createNamespace creates a namespace, once per pass. The namespace gets no marks, because it is not a dependent.
func (x *Executor) createNamespace(ctx context.Context, name string) error {
	created, _ := x.namespaces.LoadOrStore(name, sync.OnceValue(func() error {
		err := x.Server.Mutate("create", func() error {
			return x.Server.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.FieldOwner(x.Server.FieldOwner))
		})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating namespace %s: %w", name, err)
		}
		return nil
	}))
	outcome, _ := created.(func() error)
	return outcome()
}

// RemoveSurplus removes fields that other field managers added to the declared ones, as far as the update policy
// demands. It returns the new object and the removed fields; nil if it removed nothing.
func (x *Executor) RemoveSurplus(
	ctx context.Context, t *prepare.Object, item *inventory.Item, object *unstructured.Unstructured, metadata bool,
) (*unstructured.Unstructured, []fieldpath.Path, error) {
	cleaned, surplus, err := x.withoutSurplus(t, object, metadata)
	if err != nil || cleaned == nil {
		return nil, nil, err
	}
	err = x.Server.Mutate("update", func() error { return x.Server.Client.Update(ctx, cleaned, client.FieldOwner(x.Server.FieldOwner)) })
	if apierrors.IsInvalid(err) && !IsOutdated(err) {
		x.Report.Notes(item, fmt.Sprintf("fields set by other clients cannot be removed: %s", FieldTexts(surplus)))
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if cleaned.GetResourceVersion() == object.GetResourceVersion() && Same(object, cleaned) {
		return nil, nil, nil
	}
	return cleaned, surplus, nil
}

// withoutSurplus returns the object without the fields that RemoveSurplus removes, and their paths; nil if there are
// none.
func (x *Executor) withoutSurplus(t *prepare.Object, object *unstructured.Unstructured, metadata bool) (*unstructured.Unstructured, []fieldpath.Path, error) {
	restored, err := x.restoredAccount(t, object)
	if err != nil {
		return nil, nil, err
	}
	managed, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "managedFields")
	if entries, _ := managed.([]any); len(entries) < 2 && len(restored) == 0 {
		return nil, nil, nil // no other field manager has written the object, or field ownership is not tracked
	}
	surplus, err := x.othersFields(t, object, func(manager string) bool { return x.Reclaims(t.Update, manager) })
	if err != nil {
		return nil, nil, err
	}
	if !metadata {
		// Labels and annotations that others add are no drift; they are removed when the manifest changes.
		surplus = fieldset.Outside(surplus, "metadata")
	}
	manifest, err := x.Manifests.Of(t)
	if err != nil {
		return nil, nil, err
	}
	if prepare.IsContainer(t.Key) && !prepare.DeclaresData(manifest) {
		// A Secret or ConfigMap that is declared without content is meant to be filled by others.
		surplus = fieldset.Outside(surplus, "data", "binaryData")
	}
	surplus = append(surplus, restored...)
	references := object.GetOwnerReferences()
	if metadata && mayUpdate(t) && len(manifest.GetOwnerReferences()) == 0 {
		references = x.ofOthers(references)
	}
	if len(surplus) == 0 && len(references) == len(object.GetOwnerReferences()) {
		return nil, nil, nil
	}
	owned, err := fieldset.Owned(object.GetManagedFields(), x.Server.FieldOwner)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the fields of %s: %w", t.Key, err)
	}
	cleaned := object.DeepCopy()
	fieldset.Remove(cleaned.Object, surplus, owned)
	cleaned.SetOwnerReferences(references)
	return cleaned, surplus, nil
}

// mayUpdate reports whether the update policy has objects updated, beside being applied.
func mayUpdate(t *prepare.Object) bool {
	return t.Update == inventory.UpdatePolicyReplace || t.Update == inventory.UpdatePolicySsaOverride
}

// ofOthers returns the references that do not lead to the owner itself. A former manager has set those that do. The
// garbage collector would delete dependents by them which are to be orphaned.
func (x *Executor) ofOthers(references []metav1.OwnerReference) []metav1.OwnerReference {
	uid := x.Owner.UID()
	return slices.DeleteFunc(references, func(reference metav1.OwnerReference) bool { return uid != "" && reference.UID == uid })
}

// Reclaims reports whether the update policy removes additions of a field manager.
func (x *Executor) Reclaims(policy inventory.UpdatePolicy, manager string) bool {
	switch policy {
	case inventory.UpdatePolicyReplace:
		return true
	case inventory.UpdatePolicySsaOverride:
		isPrefix := func(prefix string) bool { return strings.HasPrefix(manager, prefix) }
		return slices.ContainsFunc(x.Reclaimed, isPrefix) || slices.Contains(x.ReclaimedNames, manager)
	case inventory.UpdatePolicySsaMerge, inventory.UpdatePolicyRecreate:
		return false
	default:
		return false
	}
}

// IsLeftAlone reports whether a dependent may differ from its manifest, is not corrected because of its drift policy,
// and still has to be compared.
func (p *Preview) IsLeftAlone(t *prepare.Object, d decide.Decision, s decide.Situation) bool {
	if !p.LeftAlone || !s.Exists || s.Seen.Owner != p.x.Owner.Label || t.Reconcile == inventory.ReconcilePolicyOnce || t.Drift == inventory.DriftPolicyCorrect {
		return false
	}
	item := p.itemOf(t)
	differs := item.UID != s.Seen.UID || item.Fingerprint != s.Seen.Fingerprint || item.Baseline == "" || item.Baseline != s.Seen.Baseline()
	return d.Action == decide.Report || d.Action == decide.Keep && differs
}

// showLeftAlone shows the drift of a dependent that is not corrected. The decision must be repeated (again) if the
// object has changed since it was observed.
func (p *Preview) showLeftAlone(ctx context.Context, change *inventory.Change, t *prepare.Object, s decide.Situation) (again bool, err error) {
	c, err := p.dryRun(ctx, t, decide.Decision{Action: decide.Verify, Verb: inventory.VerbCorrected}, s)
	switch {
	case err == nil:
	case IsOutdated(err):
		return true, nil
	case IsRefusal(err), apiserver.IsDenied(err), apierrors.IsForbidden(err), IsNoDryRun(err):
		return false, nil
	default:
		return false, fmt.Errorf("comparing %s: %w", t.Key, err)
	}
	if !Same(c.before, c.after) {
		change.Reason = p.changedBy(c)
		p.addLeftAlone(change, t, c)
	}
	return false, nil
}

// addLeftAlone adds the drift of a dependent that is not corrected.
func (p *Preview) addLeftAlone(change *inventory.Change, t *prepare.Object, c comparison) {
	change.Reason += "; left alone because its drift policy is " + annotations.Kebab(string(t.Drift))
	change.Before, change.After, change.Changed = Presentable(c.before, p.x.Server.Keys), Presentable(c.after, p.x.Server.Keys), p.changedFields(c)
}

// changedFields returns the changed, removed and added fields with their writers and times; nil if field ownership
// cannot be read.
func (p *Preview) changedFields(c comparison) []inventory.FieldChange {
	fields, err := fieldset.Gained(c.before.GetManagedFields(), c.applied.GetManagedFields(), p.x.Server.FieldOwner)
	if err != nil {
		return nil
	}
	fields = append(fields, c.surplus...)
	writers, err := fieldset.Writers(c.before.GetManagedFields(), fields, p.x.Server.FieldOwner)
	if err != nil {
		return nil
	}
	var changed []inventory.FieldChange
	for i, path := range fields {
		changed = append(changed, fieldChange(path, writers[i]))
	}
	slices.SortFunc(changed, func(a, b inventory.FieldChange) int { return cmp.Compare(a.Path, b.Path) })
	return changed
}

// fieldChange describes a field and who wrote it.
func fieldChange(path fieldpath.Path, writer fieldset.Writer) inventory.FieldChange {
	change := inventory.FieldChange{Path: texts.Text(path.String()), Manager: writer.Manager}
	if !writer.Time.IsZero() {
		change.Time = &metav1.Time{Time: writer.Time}
	}
	return change
}

// RejectionText returns a message that the API server has rejected a desired object, with a remedy if a field is
// immutable or a list has duplicate keys. The prefix is the prefix of annotations.
func RejectionText(t *prepare.Object, prefix string, err error) string {
	// The server's message about a whole spec ends with a diff of several lines.
	text := "rejected by the API server: " + strings.TrimRight(err.Error(), " \n")
	if IsImmutable(err) && !t.RecreateIfImmutable && t.Update != inventory.UpdatePolicyRecreate {
		text += fmt.Sprintf("; to recreate the object, set the annotation %s: \"true\"", prefix+types.AnnotationKeySuffixRecreateIfImmutable)
	}
	if strings.Contains(text, duplicateEntries) {
		text += "; server-side apply accepts each key only once: keep one of these entries in the manifest (of environment variables, the last one counts)"
	}
	return text
}

// duplicateEntries is the API server's message about a list with duplicate keys, such as the names of environment
// variables or the numbers of container ports. Only apply requests reject such lists.
const duplicateEntries = "duplicate entries for key"

// An apply request merges the manifest with fields set by others and by the server. So the API server may reject the
// result although it would accept the manifest: another client has renamed a port, or a default conflicts with a new
// value. Then the object is replaced by its manifest, if the update policy permits that. If that is rejected as well, a
// field is immutable.

// Remedy handles an apply request that the API server has rejected as invalid (cause): it replaces the observed object
// by its manifest, which can then be applied, and returns the response. It returns nil if the object cannot be updated
// but may be recreated, provided that ProbeCreation permits that. It returns the cause if there is no remedy.
func (x *Executor) Remedy(ctx context.Context, t *prepare.Object, item *inventory.Item, s decide.Situation, cause error) (*unstructured.Unstructured, error) {
	live, err := x.readUnchanged(ctx, item, s)
	if apierrors.IsForbidden(err) {
		return nil, cause
	}
	if err != nil {
		return nil, err
	}
	object, kept, err := x.replacement(t, item, s, live)
	if err != nil {
		return nil, err
	}
	options := []client.UpdateOption{client.FieldOwner(x.Server.FieldOwner)}
	if len(kept) > 0 {
		options = append(options, client.DryRunAll)
	}
	err = x.Server.Mutate("update", func() error { return x.Server.Client.Update(ctx, object, options...) })
	switch {
	case err == nil && len(kept) == 0:
		return object, nil
	case err == nil:
		return nil, fmt.Errorf("%w; the fields %s, which others have set, do not go with the manifest: remove them, or use the update policy replace", cause, FieldTexts(kept))
	case apierrors.IsForbidden(err), IsInvalid(err) && !s.MayRecreate(t):
		return nil, cause
	case !IsInvalid(err):
		return nil, err
	default:
		return nil, nil // it has to be recreated
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

// replacement returns the object that replaces the live one: the manifest, fields that Kubernetes maintains, and labels
// and annotations of others that the update policy keeps. kept are other fields that the policy keeps and the object
// lacks.
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
		object.SetOwnerReferences(x.ofOthers(live.GetOwnerReferences()))
	}
	foreign := x.Finalizers.Without(live.GetFinalizers())
	object.SetFinalizers(slices.Compact(slices.Sorted(slices.Values(slices.Concat(object.GetFinalizers(), foreign)))))
	return object, kept, nil
}

// othersFields returns the fields of an object that belong only to reclaimed managers and need not stay.
func (x *Executor) othersFields(t *prepare.Object, live *unstructured.Unstructured, reclaim func(manager string) bool) ([]fieldpath.Path, error) {
	fields, err := fieldset.Surplus(t.Key.GroupKind, live.GetManagedFields(), x.Server.FieldOwner, reclaim, t.IgnoreFields...)
	if err != nil {
		return nil, fmt.Errorf("reading the fields of %s: %w", t.Key, err)
	}
	return fields, nil
}

// ProbeCreation returns the error with which the API server would now reject the creation of the object. The object may
// exist: the server rejects an invalid manifest before it detects that. Errors that result from the existing object,
// such as exceeded quota, do not count.
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

// restoredAccount returns the fields of a pod template that still name a ServiceAccount although the manifest has
// dropped it and nobody else declares it: the API server restores it from the deprecated field serviceAccount.
func (x *Executor) restoredAccount(t *prepare.Object, object *unstructured.Unstructured) ([]fieldpath.Path, error) {
	pod := []any{"spec", "template", "spec"}
	switch t.Key.GroupKind.String() {
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "ReplicationController":
	case "CronJob.batch":
		pod = []any{"spec", "jobTemplate", "spec", "template", "spec"}
	default:
		return nil, nil
	}
	fields := []fieldpath.Path{
		fieldpath.MakePathOrDie(slices.Concat(pod, []any{"serviceAccountName"})...), fieldpath.MakePathOrDie(slices.Concat(pod, []any{"serviceAccount"})...),
	}
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
