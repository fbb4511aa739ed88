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
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// Show completes a change with the effect of a decision on an object. The decision must be repeated (again) if the
// object has changed since it was observed.
func (p *Preview) Show(ctx context.Context, change *inventory.Change, t *prepare.Object, d decide.Decision, s decide.Situation) (again bool, err error) {
	if p.IsLeftAlone(t, d, s) {
		return p.showLeftAlone(ctx, change, t, s)
	}
	switch d.Action {
	case decide.Keep, decide.Ask, decide.Report, decide.Refuse, decide.Complete, decide.Dismiss, decide.Cede:
		return false, nil
	case decide.Await:
		if change.Verb == "" {
			return false, nil
		}
		return false, p.Compute(change, t, decide.Situation{})
	case decide.Mark:
		p.showMark(change, t, s)
		return false, nil
	case decide.Create, decide.Write, decide.Verify, decide.Compare, decide.Recreate:
	}
	if p.IsLocal(t) {
		if d.Action == decide.Verify || d.Action == decide.Compare {
			change.Reason = decide.Suspected
			return false, nil
		}
		return false, p.Compute(change, t, s)
	}
	c, err := p.dryRun(ctx, t, d, s)
	switch {
	case err == nil && d.Action == decide.Recreate:
		return false, p.recreated(change, t, s, c.after)
	case err == nil:
		p.compared(change, t, d, c)
		return false, nil
	case IsOutdated(err):
		return true, nil
	default:
		return false, p.dryRunFailed(change, t, d, s, err)
	}
}

// errRecreation means that a write would have to recreate the object.
var errRecreation = errors.New("the object has to be recreated")

// comparison is an object before and after a write.
type comparison struct {
	before, after *unstructured.Unstructured
	applied       *unstructured.Unstructured // the result of the apply request
	surplus       []fieldpath.Path           // fields that a second request has removed
}

// dryRun makes the requests of a write as dry runs.
func (p *Preview) dryRun(ctx context.Context, t *prepare.Object, d decide.Decision, s decide.Situation) (comparison, error) {
	object, err := p.apply(ctx, t, d, s)
	c := comparison{before: s.Live, applied: object, after: object}
	if err != nil || d.Action == decide.Compare || d.Action == decide.Recreate {
		return c, err
	}
	changed := d.Action != decide.Verify || !Same(s.Live, object)
	cleaned, surplus, err := p.x.RemoveSurplus(ctx, t, p.itemOf(t), object, changed && !d.Verb.IsCorrection())
	if err == nil && cleaned != nil {
		c.after, c.surplus = cleaned, surplus
	}
	return c, err
}

// apply makes the apply request of a write. If it is rejected, the object is the one that replaces the live one. The
// error is errRecreation if it has to be recreated.
func (p *Preview) apply(ctx context.Context, t *prepare.Object, d decide.Decision, s decide.Situation) (*unstructured.Unstructured, error) {
	item := p.itemOf(t)
	if d.Action == decide.Create {
		return p.x.Apply(ctx, t, item, s, decide.Create)
	}
	if d.Action == decide.Recreate {
		if err := p.x.ProbeCreation(ctx, t, item); err != nil {
			return nil, err
		}
		object, err := p.x.Apply(ctx, declaring(t), item, s, decide.Write)
		if IsInvalid(err) {
			err = errRecreation
		}
		return object, err
	}
	object, err := p.x.Apply(ctx, t, item, s, decide.Write)
	if !IsInvalid(err) || d.Action == decide.Compare {
		return object, err
	}
	object, err = p.x.Remedy(ctx, t, item, s, err)
	if err == nil && object == nil {
		if err = p.x.ProbeCreation(ctx, t, item); err == nil {
			err = errRecreation
		}
	}
	return object, err
}

// declaring returns a desired object that declares all its fields: a recreated object has them, whoever owned them
// before.
func declaring(t *prepare.Object) *prepare.Object {
	all := *t
	all.IgnoreFields = nil
	return &all
}

// isIdle reports whether the write changes nothing, not even the managers of fields.
func (c comparison) isIdle() bool {
	return c.before != nil && Same(c.before, c.after) && reflect.DeepEqual(c.before.GetManagedFields(), c.after.GetManagedFields())
}

// compared completes a change from a comparison.
func (p *Preview) compared(change *inventory.Change, t *prepare.Object, d decide.Decision, c comparison) {
	same := c.before != nil && Same(c.before, c.after)
	switch {
	case d.Action == decide.Verify && same, d.Action == decide.Compare && same:
		if change.Reason == decide.Suspected {
			change.Reason = ""
		}
		return
	case d.Action == decide.Compare:
		change.Reason = p.changedBy(c)
		if p.LeftAlone {
			p.addLeftAlone(change, t, c)
		}
		return
	case d.Action == decide.Verify:
		change.Verb, change.Reason = inventory.VerbCorrected, p.changedBy(c)
	case d.Message == decide.ChangedByOthers:
		change.Reason = p.changedBy(c)
	case d.MayChangeNothing(t) && c.isIdle():
		// An earlier manifest was planned, and never applied; or the object was to be deleted, and never was.
		change.Reason = inventory.ReasonUnchanged
	}
	change.Before, change.After = Presentable(c.before, p.x.Server.Keys), Presentable(c.after, p.x.Server.Keys)
	if change.Verb.IsCorrection() && c.before != nil {
		change.Changed = p.changedFields(c)
	}
	if c.before == nil {
		p.forgetAllocated(t, change.After, c.after.GetUID())
		return
	}
	change.Conflicts = conflictsOf(fieldset.Taken(c.before.GetManagedFields(), c.applied.GetManagedFields(), p.x.Server.FieldOwner))
}

// conflictsOf returns the fields that a write would take from others; none if field ownership cannot be read.
func conflictsOf(taken []fieldset.Taking, err error) []inventory.FieldChange {
	if err != nil {
		return nil
	}
	changes := make([]inventory.FieldChange, len(taken))
	for i, taking := range taken {
		changes[i] = fieldChange(taking.Path, taking.Writer)
		changes[i].Ignorable = annotations.FieldText(taking.Path)
	}
	return changes
}

// recreated completes the change of an object that would be recreated, by removing fields that others own. The object
// is from a dry run of an update, because the server refuses to create an object that exists.
func (p *Preview) recreated(change *inventory.Change, t *prepare.Object, s decide.Situation, object *unstructured.Unstructured) error {
	manifest, err := p.x.Manifests.Of(t)
	if err != nil {
		return err
	}
	if err := p.removeLocally(object, declaring(t), true, manifest); err != nil {
		return err
	}
	p.show(change, t, s, object)
	return nil
}

// changedBy names the clients that changed fields.
func (p *Preview) changedBy(c comparison) string {
	if what := p.x.Changers(c.before.GetManagedFields(), c.applied.GetManagedFields(), c.surplus); what != "" {
		return "was changed by " + what
	}
	return decide.ChangedByOthers
}

// Changers returns the names of the clients that changed fields of an object, and the fields; empty if not known. It
// takes the managed fields before (nil if not known) and after the object was applied, and the fields that are then
// removed. Fields that others have removed have no owner.
func (x *Executor) Changers(before, after []metav1.ManagedFieldsEntry, surplus []fieldpath.Path) string {
	fields := surplus
	if before != nil {
		gained, err := fieldset.Gained(before, after, x.Server.FieldOwner)
		if err != nil {
			return ""
		}
		fields = slices.Concat(gained, surplus)
	}
	if len(fields) == 0 {
		return ""
	}
	holders, err := fieldset.Holders(slices.Concat(before, after), fields, x.Server.FieldOwner)
	if err != nil || len(holders) == 0 {
		holders = []string{"another client"}
	}
	return strings.Join(holders, ", ") + ": " + FieldTexts(fields)
}

// dryRunFailed completes a change whose dry run failed, or returns the error.
func (p *Preview) dryRunFailed(change *inventory.Change, t *prepare.Object, d decide.Decision, s decide.Situation, err error) error {
	switch {
	case d.Action == decide.Compare && IsInvalid(err):
		change.Reason = decide.ChangedByOthers
		return nil
	case errors.Is(err, errRecreation):
		change.Recreate = true
		return p.Compute(change, t, s)
	case p.CreatesNamespaces && lacksNamespace(err):
		p.missing.Store(t.Key.Namespace, true)
		return p.Compute(change, t, s)
	case IsNoDryRun(err), p.comesBefore(t, err), p.Unprivileged && apierrors.IsForbidden(err) && !apiserver.IsAdmission(err):
		return p.Compute(change, t, s)
	case IsRefusal(err), apiserver.IsDenied(err),
		(apierrors.IsForbidden(err) || apiserver.IsRejected(err)) && !IsDoomed(err) && !DeniedBy(err, BarrierPrefix):
		change.Refusal = RejectionText(t, p.x.Server.Keys.Prefix, err)
		return nil
	}
	if reason, ok := Awaitable(err); ok {
		if !p.isProvided(t) {
			change.Reason += "; " + reason
		}
		return p.Compute(change, t, s)
	}
	return fmt.Errorf("comparing %s: %w", t.Key, err)
}

// showMark shows an object with our marks added.
func (p *Preview) showMark(change *inventory.Change, t *prepare.Object, s decide.Situation) {
	after := s.Live.DeepCopy()
	p.x.SetMarks(after, t)
	change.Before, change.After = Presentable(s.Live, p.x.Server.Keys), Presentable(after, p.x.Server.Keys)
}

// Preview shows the effect of a decision on an object: by dry runs or, if they are not possible, from the manifest and
// the live object. It is safe for concurrent use for different objects.
type Preview struct {
	// CreatesNamespaces means that Apply would create missing namespaces.
	CreatesNamespaces bool
	// LeftAlone also compares dependents whose drift is not corrected because of their drift policies.
	LeftAlone bool
	// Unprivileged computes the change if the caller may not make a dry run.
	Unprivileged bool

	// Namespaces are those that Apply would create. It does not change during concurrent work.
	Namespaces map[string]bool

	x       *Executor
	itemOf  func(*prepare.Object) *inventory.Item
	objects []*prepare.Object

	// types are those that Apply would create or change. It does not change during concurrent work.
	types map[schema.GroupKind]bool

	missing sync.Map // namespaces that Apply would create because objects need them
}

// NewPreview returns the preview of a call that applies the objects, which have items. The server of the executor must
// make dry runs only.
func NewPreview(x *Executor, objects []*prepare.Object, itemOf func(*prepare.Object) *inventory.Item) *Preview {
	return &Preview{x: x, itemOf: itemOf, objects: objects, Namespaces: map[string]bool{}, types: map[schema.GroupKind]bool{}}
}

// NoteDefinition notes that Apply would create or change the definition of types.
func (p *Preview) NoteDefinition(t *prepare.Object) {
	for _, managed := range t.ManagedTypes {
		p.types[schema.GroupKind{Group: managed.Group, Kind: managed.Kind}] = true
	}
}

// MissingNamespaces returns the namespaces that Apply would create although no object declares them; sorted.
func (p *Preview) MissingNamespaces() []string {
	var missing []string
	for key := range p.missing.Range {
		name, _ := key.(string)
		if !slices.ContainsFunc(p.objects, func(t *prepare.Object) bool { return prepare.IsNamespace(t.Key.GroupKind) && t.Key.Name == name }) {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// IsLocal reports whether a dry run is not possible, because Apply would create the namespace of the object, or create
// or change its type.
func (p *Preview) IsLocal(t *prepare.Object) bool {
	return p.Namespaces[t.Key.Namespace] || p.types[t.Key.GroupKind]
}

// isProvided reports whether other objects of the request define the type of an object.
func (p *Preview) isProvided(t *prepare.Object) bool {
	return p.types[t.Key.GroupKind] || t.Instance && !t.AwaitsType
}

// Presentable returns a copy of an object without the status and the metadata that the server and the reconciler
// maintain; nil for nil.
func Presentable(object *unstructured.Unstructured, keys prepare.Keys) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	removeKeys(object, "annotations", keys.Digest)
	return object
}

// removeKeys removes labels or annotations.
func removeKeys(object *unstructured.Unstructured, field string, keys ...string) {
	entries, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", field)
	content, _ := entries.(map[string]any)
	for _, key := range keys {
		delete(content, key)
	}
	if len(content) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
}

// FieldTexts lists fields, at most six entries. Items of sets are values, which may be secret.
func FieldTexts(paths []fieldpath.Path) string {
	list := make([]string, 0, len(paths))
	for i, path := range paths {
		if i == 5 && len(paths) > 6 {
			list = append(list, fmt.Sprintf("and %d more", len(paths)-i))
			break
		}
		list = append(list, texts.Text(path.String()))
	}
	return strings.Join(list, ", ")
}

// Compute completes a change without the server.
func (p *Preview) Compute(change *inventory.Change, t *prepare.Object, s decide.Situation) error {
	if change.Recreate {
		t = declaring(t)
	}
	manifest, err := p.x.Desired(t, p.itemOf(t), s, s.Live)
	if err != nil {
		return err
	}
	manifest = manifest.DeepCopy()
	after := manifest
	if s.Live != nil {
		content, err := fieldset.Merge(s.Live.Object, manifest.Object, s.Live.GetManagedFields(), p.x.Server.FieldOwner)
		if err != nil {
			return fmt.Errorf("reading the fields of %s: %w", t.Key, err)
		}
		after = &unstructured.Unstructured{Object: content}
		if !change.Recreate {
			change.Conflicts = conflictsOf(fieldset.WouldTake(s.Live.Object, manifest.Object, s.Live.GetManagedFields(), p.x.Server.FieldOwner))
		}
		if err := p.removeLocally(after, t, change.Recreate, manifest); err != nil {
			return err
		}
	}
	change.Local = true
	p.show(change, t, s, after)
	return nil
}

// show shows an object before and after a change.
func (p *Preview) show(change *inventory.Change, t *prepare.Object, s decide.Situation, after *unstructured.Unstructured) {
	change.Before, change.After = Presentable(s.Live, p.x.Server.Keys), Presentable(after, p.x.Server.Keys)
	if change.Recreate {
		p.forgetAllocated(t, change.Before, s.Live.GetUID())
		p.forgetAllocated(t, change.After, s.Live.GetUID())
	}
}

// removeLocally removes fields of others that the write would remove: all of them if the object is recreated, otherwise
// those that the update policy reclaims.
func (p *Preview) removeLocally(object *unstructured.Unstructured, t *prepare.Object, recreate bool, manifest *unstructured.Unstructured) error {
	surplus, err := p.x.othersFields(t, object, func(manager string) bool { return recreate || p.x.Reclaims(t.Update, manager) })
	if err != nil {
		return err
	}
	// The field ownership does not include newly declared fields yet.
	surplus = slices.DeleteFunc(surplus, func(path fieldpath.Path) bool { return fieldset.Exists(manifest.Object, path) })
	fieldset.Remove(object.Object, surplus, nil)
	return nil
}

// Orphaned returns the presentable object without the marks of the owner.
func (p *Preview) Orphaned(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = Presentable(object, p.x.Server.Keys)
	removeKeys(object, "labels", p.x.Server.Keys.OwnerLabel)
	removeKeys(object, "annotations", p.x.Server.Keys.OwnerAnnotation)
	if len(object.GetFinalizers()) > 0 {
		object.SetFinalizers(p.x.Finalizers.Without(object.GetFinalizers()))
	}
	return object
}

// forgetAllocated removes values that differ each time the object is created: its UID, which the Job controller puts
// into labels, and the values allocated to Services.
func (p *Preview) forgetAllocated(t *prepare.Object, object *unstructured.Unstructured, uid apitypes.UID) {
	if uid != "" {
		forgetValue(object.Object, string(uid))
	}
	if (t.Key.GroupKind != schema.GroupKind{Kind: "Service"}) {
		return
	}
	manifest, err := p.x.Manifests.Of(t)
	if err != nil {
		return
	}
	for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		if _, declared, _ := unstructured.NestedFieldNoCopy(manifest.Object, "spec", field); !declared {
			unstructured.RemoveNestedField(object.Object, "spec", field)
		}
	}
	declared, _, _ := unstructured.NestedSlice(manifest.Object, "spec", "ports")
	ports, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "ports")
	list, _ := ports.([]any)
	for i, port := range list {
		port, ok := port.(map[string]any)
		if ok && (i >= len(declared) || !fieldset.Exists(declared[i], fieldpath.MakePathOrDie("nodePort"))) {
			delete(port, "nodePort")
		}
	}
}

// forgetValue removes map entries that have the value, and maps that this leaves empty. It reports whether the node
// itself is empty now.
func forgetValue(node any, value string) (empty bool) {
	switch node := node.(type) {
	case map[string]any:
		before := len(node)
		for key, child := range node {
			if child == value || forgetValue(child, value) {
				delete(node, key)
			}
		}
		return before > 0 && len(node) == 0
	case []any:
		for _, child := range node {
			forgetValue(child, value)
		}
	}
	return false
}

// missingTexts are the messages of the pod admission plugins about missing objects that a pod refers to, by the kind of
// the missing object.
var missingTexts = map[schema.GroupKind]string{
	{Kind: "ServiceAccount"}:                            `serviceaccount "%s" not found`,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}: `no PriorityClass with name %s was found`,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:        `RuntimeClass "%s" not found`,
}

// comesBefore reports whether the API server has refused an object only because another one, which Apply would create
// before it, does not exist yet.
func (p *Preview) comesBefore(t *prepare.Object, err error) bool {
	if !apierrors.IsForbidden(err) && !IsNotFound(err) {
		return false
	}
	return slices.ContainsFunc(p.objects, func(other *prepare.Object) bool {
		return other.ApplyOrder <= t.ApplyOrder && (other.Key.Namespace == "" || other.Key.Namespace == t.Key.Namespace) && lacks(t, err, other)
	})
}

// lacks reports whether the API server has refused an object because another one does not exist.
func lacks(t *prepare.Object, err error, other *prepare.Object) bool {
	if text, exists := missingTexts[other.Key.GroupKind]; exists {
		return strings.Contains(err.Error(), fmt.Sprintf(text, other.Key.Name))
	}
	// If the role of a binding does not exist, the API server reports the name of the role with the resource of the
	// binding.
	return IsNotFound(err) && detailsOf(err).Name == other.Key.Name &&
		t.Key.Group == prepare.GroupRBAC && strings.HasSuffix(t.Key.Kind, "RoleBinding") && other.Key.Group == prepare.GroupRBAC && strings.HasSuffix(other.Key.Kind, "Role")
}
