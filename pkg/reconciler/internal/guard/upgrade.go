// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/types"
)

// NewValidator returns a function that validates instances against a schema.
type NewValidator func(schema *apiextensionsv1.JSONSchemaProps) (func(instance map[string]any) field.ErrorList, error)

// Upgrades look after the instances of CustomResourceDefinitions that are about to change.
type Upgrades struct {
	Server *execute.Server
	// NewValidator is nil if instances are not validated.
	NewValidator NewValidator
	// Pause is how long all API servers take to notice a changed definition.
	Pause time.Duration
}

// StoragePause is the default of Upgrades.Pause. An API server watches the definitions.
const StoragePause = 5 * time.Second

// Upgrade is a change of a CustomResourceDefinition.
type Upgrade struct {
	of   *Upgrades
	live *unstructured.Unstructured
	// now is the definition on the server, next what the manifest makes of it.
	now, next apiextensionsv1.CustomResourceDefinition
	unchecked bool
}

// Of returns the change that a manifest makes to a live definition. With unchecked, instances are not validated.
func (u *Upgrades) Of(live, manifest *unstructured.Unstructured, unchecked bool) (*Upgrade, error) {
	up := &Upgrade{of: u, live: live, unchecked: unchecked}
	for object, definition := range map[*unstructured.Unstructured]*apiextensionsv1.CustomResourceDefinition{live: &up.now, manifest: &up.next} {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
			return nil, fmt.Errorf("decoding the CustomResourceDefinition %s: %w", object.GetName(), err)
		}
	}
	return up, nil
}

type versioned = apiextensionsv1.CustomResourceDefinitionVersion

// version returns the first version of a definition that fits; nil if there is none.
func version(definition *apiextensionsv1.CustomResourceDefinition, fits func(versioned) bool) *versioned {
	if i := slices.IndexFunc(definition.Spec.Versions, fits); i >= 0 {
		return &definition.Spec.Versions[i]
	}
	return nil
}

func named(name string) func(versioned) bool {
	return func(v versioned) bool { return v.Name == name }
}

func isStorage(v versioned) bool { return v.Storage }

func isServed(v versioned) bool { return v.Served }

func schemaOf(v *versioned) *apiextensionsv1.JSONSchemaProps {
	if v.Schema == nil {
		return nil
	}
	return v.Schema.OpenAPIV3Schema
}

func (u *Upgrade) isConverted() bool {
	return u.now.Spec.Conversion != nil && u.now.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter ||
		u.next.Spec.Conversion != nil && u.next.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

func (u *Upgrade) kind(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: u.now.Spec.Group, Version: version, Kind: u.now.Spec.Names.Kind}
}

// maxExamples is the number of invalid instances that a message names.
const maxExamples = 3

// Refusal returns why the change must not be made: live instances would become invalid. Empty if it may. Instances that
// are invalid already do not count. It lists instances only if the schema becomes narrower. What a webhook makes of
// instances in a new version is not known, and not checked.
func (u *Upgrade) Refusal(ctx context.Context) (string, error) {
	if u.of.NewValidator == nil || u.unchecked {
		return "", nil
	}
	for i := range u.next.Spec.Versions {
		after := &u.next.Spec.Versions[i]
		before := version(&u.now, named(after.Name))
		if before == nil && !u.isConverted() {
			before = version(&u.now, isStorage)
		}
		if before == nil || schemaOf(before) == nil || !narrows(schemaOf(before), schemaOf(after)) {
			continue
		}
		if refusal, err := u.check(ctx, before, after); refusal != "" || err != nil {
			return refusal, err
		}
	}
	return "", nil
}

// check validates all instances, which are listed in the version before the change.
func (u *Upgrade) check(ctx context.Context, before, after *versioned) (string, error) {
	former, err := u.of.NewValidator(schemaOf(before))
	if err != nil {
		return "", fmt.Errorf("reading the schema of version %s of %s: %w", before.Name, u.now.Name, err)
	}
	validate, err := u.of.NewValidator(schemaOf(after))
	if err != nil {
		return "", fmt.Errorf("reading the schema of version %s in the manifest of %s: %w", after.Name, u.now.Name, err)
	}
	if !before.Served {
		if before = version(&u.now, isServed); before == nil {
			return "", nil
		}
	}
	total, invalid := 0, 0
	var examples []string
	err = u.of.Server.Each(ctx, u.of.Server.Client, u.kind(before.Name), true, func(object client.Object) (bool, error) {
		instance, ok := object.(*unstructured.Unstructured)
		if !ok || instance.GetDeletionTimestamp() != nil {
			return true, nil
		}
		total++
		problems := validate(instance.Object)
		if len(problems) > 0 {
			known := former(instance.Object)
			problems = slices.DeleteFunc(problems, func(problem *field.Error) bool {
				return slices.ContainsFunc(known, func(other *field.Error) bool { return text(other) == text(problem) })
			})
		}
		if len(problems) == 0 {
			return true, nil
		}
		if invalid++; invalid <= maxExamples {
			examples = append(examples, key(object)+": "+text(problems[0]))
		}
		return true, nil
	})
	annotation := u.of.Server.Keys.Prefix + types.AnnotationKeySuffixCRDUpgradePolicy
	switch {
	case execute.IsTypeless(err):
		return "", nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("it is not known whether its instances would be valid: %v; grant the permission, or set the annotation %s: %s",
			err, annotation, types.CRDUpgradePolicyAllow), nil
	case err != nil:
		return "", fmt.Errorf("validating the instances of %s: %w", u.now.Name, err)
	case invalid == 0:
		return "", nil
	}
	if invalid > maxExamples {
		examples = append(examples, fmt.Sprintf("and %d more", invalid-maxExamples))
	}
	return fmt.Sprintf("%d of %d %s would be invalid in version %s: %s; correct them, or set the annotation %s: %s",
		invalid, total, u.now.Spec.Names.Plural, after.Name, strings.Join(examples, "; "), annotation, types.CRDUpgradePolicyAllow), nil
}

// text returns a problem without the value, which may be confidential.
func text(problem *field.Error) string {
	return fmt.Sprintf("%s: %s", problem.Field, strings.TrimPrefix(problem.Detail, problem.Field+" in body "))
}

func key(object client.Object) string {
	return strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
}

// Leaving returns the versions in which instances may be stored, and which the manifest does not have any more.
func (u *Upgrade) Leaving() []string {
	return slices.DeleteFunc(slices.Clone(u.now.Status.StoredVersions), func(stored string) bool { return version(&u.next, named(stored)) != nil })
}

// progress is the record of a migration, in an annotation of the definition.
type progress struct {
	// Version is the one in which instances are stored.
	Version string `json:"version"`
	// Since is when the migration began.
	Since time.Time `json:"since"`
	// After is the last instance that was rewritten; Count is their number.
	After string `json:"after,omitempty"`
	Count int    `json:"count,omitempty"`
}

// slice is how long one call rewrites instances.
const slice = 5 * time.Second

// Migrate rewrites all instances that may be stored in a version that the manifest does not have any more: the API
// server refuses the manifest before. It returns what has to be awaited before the next call, and when that is; empty if
// the migration is done. It may be interrupted at any time.
func (u *Upgrade) Migrate(ctx context.Context) (wait string, again time.Duration, err error) {
	leaving := u.Leaving()
	if len(leaving) == 0 {
		return "", 0, nil
	}
	storage, now := version(&u.now, isStorage), u.of.Server.Clock.Now()
	if slices.Contains(leaving, storage.Name) {
		target := version(&u.next, isStorage)
		return u.waiting(target.Name), u.of.Pause, u.record(ctx, progress{Version: target.Name, Since: now}, u.bridge(leaving))
	}
	var record progress
	annotation := u.of.Server.Keys.Prefix + types.AnnotationKeySuffixStorageMigration
	if json.Unmarshal([]byte(u.live.GetAnnotations()[annotation]), &record) != nil || record.Version != storage.Name {
		// It is not known for how long the API servers have used the version.
		return u.waiting(storage.Name), u.of.Pause, u.record(ctx, progress{Version: storage.Name, Since: now}, nil)
	}
	if left := record.Since.Add(u.of.Pause).Sub(now); left > 0 && left <= u.of.Pause {
		return u.waiting(storage.Name), left, nil
	}
	served := version(&u.now, isServed)
	if served == nil {
		return "", 0, fmt.Errorf("%s serves no version, so that its instances cannot be stored in version %s", u.now.Name, storage.Name)
	}
	done, err := u.rewrite(ctx, u.kind(served.Name), &record)
	switch {
	case err != nil:
		return "", 0, err
	case !done:
		return fmt.Sprintf("%d %s are stored in version %s so far, because version %s goes",
			record.Count, u.now.Spec.Names.Plural, storage.Name, strings.Join(leaving, ", ")), time.Millisecond, nil
	}
	if err := u.patch(ctx, "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: nil}}}); err != nil {
		return "", 0, err
	}
	return "", 0, u.patch(ctx, "status", map[string]any{"status": map[string]any{"storedVersions": []string{storage.Name}}})
}

func (u *Upgrade) waiting(version string) string {
	return fmt.Sprintf("waiting until all API servers store %s in version %s", u.now.Spec.Names.Plural, version)
}

// bridge returns the versions of the manifest, and those that leave; they are served as before, and not for storage.
func (u *Upgrade) bridge(leaving []string) []versioned {
	versions := slices.Clone(u.next.Spec.Versions)
	for _, former := range u.now.Spec.Versions {
		if version(&u.next, named(former.Name)) == nil && (slices.Contains(leaving, former.Name) || former.Served) {
			former.Storage = false
			versions = append(versions, former)
		}
	}
	return versions
}

// record records the progress, and sets the versions unless they are nil.
func (u *Upgrade) record(ctx context.Context, p progress, versions []versioned) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the progress of a migration: %w", err)
	}
	annotation := u.of.Server.Keys.Prefix + types.AnnotationKeySuffixStorageMigration
	content := map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: string(encoded)}}}
	if versions != nil {
		content["spec"] = map[string]any{"versions": versions}
	}
	return u.patch(ctx, "", content)
}

// patch changes the definition, guarded by the version that was read.
func (u *Upgrade) patch(ctx context.Context, subresource string, content map[string]any) error {
	patch, err := apiserver.MergePatch(u.live.GetUID(), u.live.GetResourceVersion(), content)
	if err != nil {
		return err
	}
	owner := client.FieldOwner(u.of.Server.FieldOwner)
	return u.of.Server.Mutate("update", func() error {
		if subresource != "" {
			return u.of.Server.Client.SubResource(subresource).Patch(ctx, u.live, patch, owner)
		}
		return u.of.Server.Client.Patch(ctx, u.live, patch, owner)
	})
}

// rewrite has the API server store instances again, in the order of their keys, and records the progress. It returns
// false if there are more.
func (u *Upgrade) rewrite(ctx context.Context, kind schema.GroupVersionKind, record *progress) (done bool, err error) {
	begin, more := time.Now(), false
	var batch []client.Object
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := concurrent.Each(u.of.Server.Concurrency, batch, func(_ int, object client.Object) error { return u.touch(ctx, object) }); err != nil {
			return err
		}
		record.After, record.Count = key(batch[len(batch)-1]), record.Count+len(batch)
		batch = nil
		return u.record(ctx, *record, nil)
	}
	err = u.of.Server.Each(ctx, u.of.Server.Client, kind, false, func(object client.Object) (bool, error) {
		if key(object) <= record.After {
			return true, nil
		}
		if more = time.Since(begin) > slice; more {
			return false, nil
		}
		if batch = append(batch, object); len(batch) < 10*u.of.Server.Concurrency {
			return true, nil
		}
		return true, flush()
	})
	if err == nil {
		err = flush()
	}
	return !more && err == nil, err
}

// touch changes nothing of an instance, which makes the API server store it in the storage version. Whoever has changed
// or deleted it meanwhile has done that as well.
func (u *Upgrade) touch(ctx context.Context, object client.Object) error {
	patch, err := apiserver.MergePatch(object.GetUID(), object.GetResourceVersion(), map[string]any{})
	if err != nil {
		return err
	}
	name := key(object)
	err = u.of.Server.Mutate("update", func() error {
		return u.of.Server.Client.Patch(ctx, object, patch, client.FieldOwner(u.of.Server.FieldOwner))
	})
	if err == nil || execute.IsOutdated(err) || execute.IsGone(err) {
		return nil
	}
	return fmt.Errorf("storing %s %s again: %w", u.now.Spec.Names.Kind, name, err)
}
