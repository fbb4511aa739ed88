// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Conflicts decides what happens to declared fields that other field managers own with other values.
type Conflicts string

const (
	// ConflictsDefault takes the fields, apart from those that an earlier revision leaves to others.
	ConflictsDefault Conflicts = ""
	// ConflictsForce takes all of them.
	ConflictsForce Conflicts = "force"
	// ConflictsKeep takes only those that the manifest has changed since the last revision that was ready, and leaves
	// all others to their managers, in this revision and in later ones.
	ConflictsKeep Conflicts = "keep"
	// ConflictsRefuse is like ConflictsDefault for a plan. Its user refuses the plan if it takes fields; see
	// [Plan.Conflicting].
	ConflictsRefuse Conflicts = "refuse"
)

const (
	keptKey    = releases.ReconcilerName + "/" + types.AnnotationKeySuffixKeptFields
	ignoredKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixIgnoreFields
)

// keptFields are fields by object, in the notation of the annotation ignore-fields.
type keptFields map[display.Key][]string

// decide renders and compares until all conflicts are decided, because each field left to others changes the manifest.
// It terminates: each repetition leaves at least one more field to others.
func decide(ctx context.Context, p *Plan, request Request, compare bool) error {
	k := &keeper{plan: p, conflicts: request.Conflicts, chosen: keptFields{}}
	p.keeper = k
	if isLost := p.Release.Recorded() && p.Release.Current() == nil && len(p.Release.Inventory) > 0; isLost && k.conflicts == ConflictsKeep {
		return k.unknown(errors.New("the record was lost, and what its revisions declared with it"))
	}
	for again := true; again; {
		if err := p.render(ctx, request); err != nil {
			return err
		}
		if err := p.Compare(ctx, compare || k.conflicts == ConflictsKeep); err != nil {
			return err
		}
		var err error
		if again, err = k.choose(ctx); err != nil {
			return err
		}
	}
	for i := range p.Changes {
		if fields := k.chosen[keyIn(p.Release.Namespace, p.Changes[i].Object)]; len(fields) > 0 {
			p.Changes[i].Notes = append(p.Changes[i].Notes, "fields that are left to other field managers from now on: "+texts.Text(strings.Join(fields, ", ")))
		}
	}
	return nil
}

// keepAtRollback adds the fields that the current revision leaves to others to the manifest of the revision to which a
// plan returns. With ConflictsForce, it takes all fields instead. A continued rollback keeps its manifest; if it takes
// fields, it becomes another rollback to the same revision.
func keepAtRollback(ctx context.Context, p *Plan, request RollbackRequest) error {
	manifest := p.Content.Manifest
	var err error
	switch {
	case request.Conflicts == ConflictsForce:
		manifest = withoutKept(manifest)
	case p.New:
		k := &keeper{plan: p, conflicts: request.Conflicts}
		manifest, err = k.complete(ctx, manifest)
	}
	if err != nil || slices.Equal(manifest, p.Content.Manifest) {
		return err
	}
	if !p.New {
		p.returnTo(cmp.Or(p.Revision.Target, p.Revision.Number), cmp.Or(request.Description, p.Revision.Description))
	}
	p.Content.Manifest = manifest
	p.Revision.Inputs, err = inputs(p.Content, p.Revision)
	return err
}

// keeper decides which fields a plan leaves to others.
type keeper struct {
	plan      *Plan
	conflicts Conflicts
	// chosen are the conflicting fields that the plan leaves to others.
	chosen keptFields

	// last is the content of the current revision of the release, which is read once, and only if it is needed.
	last   releases.Content
	isRead bool
	// damage is the reason why the current revision cannot be read; nil if it can be.
	damage *releases.DamagedError
}

// read returns the objects of the current revision; none if there is no revision or if its content is lost, which must
// not prevent a new revision. The caller must not change them.
func (k *keeper) read(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if current := k.plan.Release.Current(); current != nil && !k.isRead {
		var err error
		k.last, err = k.plan.connection.Records().Content(ctx, k.plan.Release, current.Number)
		if err != nil && !errors.As(err, &k.damage) {
			return nil, err
		}
		k.isRead = true
	}
	return k.last.Manifest, nil
}

// unknown returns the RefusedError if, for a reason, it is unknown which fields are left to others.
func (k *keeper) unknown(reason error) error {
	return releases.Refused("which fields release %s leaves to other field managers is not known: %v; to take all declared fields from them: --conflicts=force",
		k.plan.Release, reason)
}

// sinceReady returns the manifest of the last revision that was ready; that of the current one if there is none.
func (k *keeper) sinceReady(ctx context.Context) ([]*unstructured.Unstructured, error) {
	release := k.plan.Release
	isReady, err := becameReady(ctx, k.plan.connection, release)
	if err != nil {
		return nil, err
	}
	ready := release.LastReady()
	if isReady || ready == nil || ready.Number == release.Current().Number {
		return k.read(ctx)
	}
	content, err := k.plan.connection.Records().Content(ctx, release, ready.Number)
	if damage, found := errors.AsType[*releases.DamagedError](err); found {
		err = k.unknown(damage)
	}
	return content.Manifest, err
}

// complete returns a rendered manifest with annotations for the fields that are left to others. It reads the last
// revision only if that has such fields according to its record. If it is damaged, the error is a RefusedError, because
// the fields would be taken.
func (k *keeper) complete(ctx context.Context, rendered []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	current := k.plan.Release.Current()
	if k.conflicts == ConflictsForce || current == nil || !current.KeepsFields && len(k.chosen) == 0 {
		return rendered, nil
	}
	recorded, err := k.read(ctx)
	if err == nil && k.damage != nil {
		err = k.unknown(k.damage)
	}
	return carryKept(k.plan.Release.Namespace, rendered, recorded, k.chosen), err
}

// choose chooses the conflicting fields to leave to others, and reports whether the plan must therefore be made again.
// The error is a RefusedError if one of them cannot be left to others.
func (k *keeper) choose(ctx context.Context) (again bool, err error) {
	p := k.plan
	hasConflicts := slices.ContainsFunc(p.Changes, func(change reconciler.Change) bool { return len(change.Conflicts) > 0 })
	if k.conflicts != ConflictsKeep || !hasConflicts || p.Release.Current() == nil {
		return false, nil
	}
	recorded, err := k.sinceReady(ctx)
	if err != nil {
		return false, err
	}
	written := slices.DeleteFunc(slices.Clone(p.Changes), func(change reconciler.Change) bool { return isUnwritten(p.Release.Inventory, change) })
	chosen, err := chooseKept(p.Release.Namespace, p.Content.Manifest, recorded, written)
	for key, fields := range chosen {
		for _, field := range fields {
			if !slices.Contains(k.chosen[key], field) {
				k.chosen[key], again = append(k.chosen[key], field), true
			}
		}
	}
	return again, err
}

// isUnwritten reports whether the object of a change is recorded but was never written, for example because the process
// died before it could adopt the object. All fields of its manifest are changes then, even if no revision was ready
// yet.
func isUnwritten(recorded []*reconciler.InventoryItem, change reconciler.Change) bool {
	return slices.ContainsFunc(recorded, func(item *reconciler.InventoryItem) bool {
		return item.Matches(change.Object) && item.Phase == reconciler.PhaseScheduledForApplication && item.UID == "" && item.LastAppliedAt == nil
	})
}

// carryKept returns the rendered objects with the fields that the recorded ones keep and that have the same values, and
// with further ones. Objects that keep none are returned as they were given.
func carryKept(namespace string, rendered, recorded []*unstructured.Unstructured, further keptFields) []*unstructured.Unstructured {
	before := regularByKey(namespace, recorded)
	result := slices.Clone(rendered)
	for i, object := range rendered {
		last := before[keyIn(namespace, object)]
		if last == nil || !IsRegular(object) {
			continue
		}
		kept := slices.Clone(further[keyIn(namespace, object)])
		// clm never writes an unreadable value.
		paths, _ := annotations.Fields(last.GetAnnotations()[keptKey])
		for _, path := range paths {
			if fieldset.Same(stored(object), stored(last), path) {
				kept = append(kept, annotations.FieldText(path))
			}
		}
		result[i] = withKept(object, kept)
	}
	return result
}

// withKept returns a copy of an object with an annotation for kept fields; the object itself if it already has them.
func withKept(object *unstructured.Unstructured, kept []string) *unstructured.Unstructured {
	values := object.GetAnnotations()
	// The engine reports problems of the given annotations.
	ignored, _ := annotations.Fields(values[ignoredKey])
	listed, _ := annotations.Fields(values[keptKey])
	given := slices.Concat(ignored, listed)
	kept = slices.DeleteFunc(kept, func(field string) bool {
		return slices.ContainsFunc(given, func(path fieldpath.Path) bool { return annotations.FieldText(path) == field })
	})
	if len(kept) == 0 {
		return object
	}
	slices.Sort(kept)
	added := strings.Join(slices.Compact(kept), ",")
	return annotated(object, map[string]string{
		ignoredKey: strings.TrimPrefix(values[ignoredKey]+","+added, ","),
		keptKey:    strings.TrimPrefix(values[keptKey]+","+added, ","),
	})
}

// withoutKept returns recorded objects without the fields that they keep in addition to those that their manifests
// ignored when they were rendered. Objects that keep none are returned as they were given.
func withoutKept(recorded []*unstructured.Unstructured) []*unstructured.Unstructured {
	result := slices.Clone(recorded)
	for i, object := range recorded {
		values := object.GetAnnotations()
		kept, exists := values[keptKey]
		if !exists {
			continue
		}
		delete(values, keptKey)
		paths, _ := annotations.Fields(values[ignoredKey])
		excluded, _ := annotations.Fields(kept)
		var rest []string
		for _, path := range paths {
			if !slices.ContainsFunc(excluded, path.Equals) {
				rest = append(rest, annotations.FieldText(path))
			}
		}
		if values[ignoredKey] = strings.Join(rest, ","); len(rest) == 0 {
			delete(values, ignoredKey)
		}
		if len(values) == 0 {
			values = nil // the sources render no annotations, instead of empty ones
		}
		result[i] = object.DeepCopy()
		result[i].SetAnnotations(values)
	}
	return result
}

// chooseKept returns the conflicting fields of a plan to keep, because their values are those of the recorded manifest.
// The error is a RefusedError with the fields that the annotation ignore-fields cannot express.
func chooseKept(namespace string, rendered, recorded []*unstructured.Unstructured, changes []reconciler.Change) (keptFields, error) {
	now, before := regularByKey(namespace, rendered), regularByKey(namespace, recorded)
	chosen := keptFields{}
	var problems []string
	for _, change := range changes {
		key := keyIn(namespace, change.Object)
		object, last := now[key], before[key]
		if object == nil || last == nil {
			continue
		}
		for _, conflict := range change.Conflicts {
			paths, err := annotations.Fields(conflict.Ignorable)
			switch {
			case err != nil || len(paths) != 1:
				problems = append(problems, fmt.Sprintf("%s: %s belongs to %s and cannot be left alone, because %s cannot name it; to take it over: --conflicts=force",
					change.Object, conflict.Path, conflict.Manager, ignoredKey))
			case !isOurs(paths[0]) && fieldset.Same(stored(object), stored(last), paths[0]) && !slices.Contains(chosen[key], conflict.Ignorable):
				chosen[key] = append(chosen[key], conflict.Ignorable)
			}
		}
	}
	if len(problems) > 0 {
		return nil, inventory.NewRefusedError(problems...)
	}
	return chosen, nil
}

// isOurs reports whether a field is one of the reconciler's own labels or annotations, which are never left to others.
func isOurs(path fieldpath.Path) bool {
	last := path[len(path)-1].FieldName
	return last != nil && strings.HasPrefix(*last, releases.ReconcilerName+"/")
}

// stored returns the content of an object; for a Secret, as the API server stores it.
func stored(object *unstructured.Unstructured) map[string]any {
	texts, _, _ := unstructured.NestedStringMap(object.Object, "stringData")
	if len(texts) == 0 || object.GroupVersionKind().GroupKind().String() != "Secret" {
		return object.Object
	}
	content := object.DeepCopy().Object
	data, _ := content["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, text := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	content["data"] = data
	return content
}

// regularByKey returns the objects by key, without hooks that have a time of their own, because these may have the name
// of a dependent.
func regularByKey(namespace string, objects []*unstructured.Unstructured) map[display.Key]*unstructured.Unstructured {
	index := make(map[display.Key]*unstructured.Unstructured, len(objects))
	for _, object := range objects {
		if IsRegular(object) {
			index[keyIn(namespace, object)] = object
		}
	}
	return index
}

// keyIn returns the key of an object of a release in a namespace. Cluster-scoped objects get a namespace, too, which is
// harmless.
func keyIn(namespace string, object types.ObjectKey) display.Key {
	key := display.KeyOf(object)
	key.Namespace = cmp.Or(key.Namespace, namespace)
	return key
}

// Conflicting returns a RefusedError with the fields that the plan would take from other field managers, by object; nil
// if there are none. The plan must have been compared.
func (p *Plan) Conflicting() error {
	var all []error
	for _, change := range p.Changes {
		var owners []string
		for _, conflict := range change.Conflicts {
			owners = append(owners, fmt.Sprintf("%s belongs to %s", conflict.Path, conflict.Manager))
		}
		if len(owners) > 0 {
			all = append(all, releases.Refused("%s: %s", change.Object, display.Enumerate(owners, shownFields)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	advice := "fields with other values belong to other field managers; to take them over: --conflicts=force"
	if p.Operation == Apply {
		advice += "; to take over only those that the manifest changes: --conflicts=keep"
	}
	return errors.Join(append(all, releases.Refused("%s", advice))...)
}

// shownFields bounds how many fields of an object an error names.
const shownFields = 10
