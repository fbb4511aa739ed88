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

// StoragePause is the default of Upgrades.Pause. An API server watches the definitions, and lets requests that are under
// way finish with the former version; they may take a minute.
const StoragePause = 70 * time.Second

// Upgrade is a change of a CustomResourceDefinition.
type Upgrade struct {
	of   *Upgrades
	live *unstructured.Unstructured
	// now is the definition on the server, next what the manifest makes of it.
	now, next apiextensionsv1.CustomResourceDefinition
	unchecked bool
}

// Of returns the change that a manifest makes to a live definition. With unchecked, instances are not validated. A
// manifest that cannot be decoded is left to the API server.
func (u *Upgrades) Of(live, manifest *unstructured.Unstructured, unchecked bool) *Upgrade {
	up := &Upgrade{of: u, live: live, unchecked: unchecked || live.GetAnnotations()[u.policy()] == types.CRDUpgradePolicyAllow}
	nowErr := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &up.now)
	nextErr := runtime.DefaultUnstructuredConverter.FromUnstructured(manifest.Object, &up.next)
	if nowErr != nil || nextErr != nil {
		return &Upgrade{of: u, live: live}
	}
	return up
}

func (u *Upgrades) policy() string {
	return u.Server.Keys.Prefix + types.AnnotationKeySuffixCRDUpgradePolicy
}

// advice is how a user allows a change that is refused.
func (u *Upgrades) advice() string {
	return fmt.Sprintf("set the annotation %s: %s", u.policy(), types.CRDUpgradePolicyAllow)
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

// Refusal returns why the change must not be made: live instances would become invalid, or lose fields. Empty if it may.
// Instances that are invalid already do not count. It lists instances only if the schema becomes narrower. What a webhook
// makes of instances in a new version is not known, and not checked.
func (u *Upgrade) Refusal(ctx context.Context) (string, error) {
	if refusal := u.refusesMigration(); refusal != "" || u.of.NewValidator == nil || u.unchecked {
		return refusal, nil
	}
	if len(u.Leaving()) > 0 && u.recorded() != nil {
		return "", nil // they were valid when the migration began
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

// refusesMigration returns why instances must not be stored in another version: they would lose something on the way.
func (u *Upgrade) refusesMigration() string {
	leaving := u.Leaving()
	storage := version(&u.now, isStorage)
	if len(leaving) == 0 || storage == nil {
		return ""
	}
	if isBridged := slices.Contains(leaving, storage.Name); isBridged {
		if storage = version(&u.next, isStorage); storage == nil {
			return "" // the API server refuses that
		}
		if u.isConverted() {
			return fmt.Sprintf("version %s cannot be removed while %s are stored in it, and only a webhook can convert them to version %s: "+
				"apply a definition with both versions first, the new one for storage",
				strings.Join(leaving, ", "), u.now.Spec.Names.Plural, storage.Name)
		}
	}
	if !storage.Served {
		return fmt.Sprintf("version %s cannot be removed while %s are stored in it, because version %s is not served", strings.Join(leaving, ", "), u.now.Spec.Names.Plural, storage.Name)
	}
	if u.isConverted() || u.unchecked {
		return ""
	}
	for _, name := range leaving {
		if former := version(&u.now, named(name)); former != nil {
			if lost := lostFields(schemaOf(former), schemaOf(storage), nil); len(lost) > 0 {
				return fmt.Sprintf("%s that are stored in version %s would lose fields that version %s does not have: %s; add them, or %s",
					u.now.Spec.Names.Plural, name, storage.Name, strings.Join(lost, ", "), u.of.advice())
			}
		}
	}
	return ""
}

// check validates all instances, which are listed in the version before the change.
func (u *Upgrade) check(ctx context.Context, before, after *versioned) (string, error) {
	validate, err := u.of.NewValidator(schemaOf(after))
	if err != nil {
		return "", nil //nolint:nilerr // the API server refuses the manifest, and says why
	}
	former, err := u.of.NewValidator(schemaOf(before))
	if err != nil {
		return fmt.Sprintf("it is not known whether its instances would be valid: the schema of version %s cannot be used: %v; %s", before.Name, err, u.of.advice()), nil
	}
	if !before.Served {
		if before = version(&u.now, isServed); before == nil || u.isConverted() {
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
		if problem := newProblem(instance.Object, former, validate); problem != "" {
			if invalid++; invalid <= maxExamples {
				examples = append(examples, key(object)+": "+problem)
			}
		}
		return true, nil
	})
	switch {
	case execute.IsTypeless(err):
		return "", nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("it is not known whether its instances would be valid: %v; grant the permission, or %s", err, u.of.advice()), nil
	case err != nil:
		return "", fmt.Errorf("validating the instances of %s: %w", u.now.Name, err)
	case invalid == 0:
		return "", nil
	}
	if invalid > maxExamples {
		examples = append(examples, fmt.Sprintf("and %d more", invalid-maxExamples))
	}
	return fmt.Sprintf("%d of %d %s would be invalid in version %s: %s; correct them, or %s",
		invalid, total, u.now.Spec.Names.Plural, after.Name, strings.Join(examples, "; "), u.of.advice()), nil
}

// newProblem returns a problem of an instance that it did not have before; empty if there is none.
func newProblem(instance map[string]any, former, validate func(map[string]any) field.ErrorList) string {
	problems := validate(instance)
	if len(problems) == 0 {
		return ""
	}
	known := former(instance)
	for _, problem := range problems {
		if !slices.ContainsFunc(known, func(other *field.Error) bool { return text(other) == text(problem) }) {
			return text(problem)
		}
	}
	return ""
}

// text returns a problem without the value, which may be confidential.
func text(problem *field.Error) string {
	if problem.Detail == "" {
		return fmt.Sprintf("%s: %s", problem.Field, strings.ToLower(problem.Type.String()))
	}
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
	// Generation is that of the definition. With another one, instances may be stored in another version.
	Generation int64 `json:"generation"`
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
	storage, target := version(&u.now, isStorage), version(&u.next, isStorage)
	if len(leaving) == 0 || storage == nil || target == nil {
		return "", 0, nil
	}
	if slices.Contains(leaving, storage.Name) {
		return u.waiting(target.Name), time.Millisecond, u.patch(ctx, "", map[string]any{"spec": map[string]any{"versions": u.bridge(leaving)}})
	}
	record, now := u.recorded(), u.of.Server.Clock.Now()
	if record == nil {
		// It is not known for how long the API servers have used the version.
		return u.waiting(storage.Name), u.of.Pause, u.record(ctx, &progress{Generation: u.live.GetGeneration(), Since: now})
	}
	if left := record.Since.Add(u.of.Pause).Sub(now); left > 0 {
		return u.waiting(storage.Name), left, nil
	}
	// In another version, instances would lose the fields that this one does not have.
	done, err := u.rewrite(ctx, u.kind(storage.Name), record)
	switch {
	case err != nil:
		return "", 0, err
	case !done:
		return fmt.Sprintf("%d %s are stored in version %s so far, because version %s is removed",
			record.Count, u.now.Spec.Names.Plural, storage.Name, strings.Join(leaving, ", ")), time.Millisecond, nil
	}
	if err := u.patch(ctx, "status", map[string]any{"status": map[string]any{"storedVersions": []string{storage.Name}}}); err != nil {
		return "", 0, err
	}
	return "", 0, u.patch(ctx, "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{u.annotation(): nil}}})
}

func (u *Upgrade) annotation() string {
	return u.of.Server.Keys.Prefix + types.AnnotationKeySuffixStorageMigration
}

// recorded returns the recorded progress; nil if there is none, or if the definition has changed since.
func (u *Upgrade) recorded() *progress {
	record := &progress{}
	err := json.Unmarshal([]byte(u.live.GetAnnotations()[u.annotation()]), record)
	if err != nil || record.Generation != u.live.GetGeneration() || record.Since.Sub(u.of.Server.Clock.Now()) > u.of.Pause {
		return nil
	}
	return record
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

// record records the progress.
func (u *Upgrade) record(ctx context.Context, p *progress) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encoding the progress of a migration: %w", err)
	}
	return u.patch(ctx, "", map[string]any{"metadata": map[string]any{"annotations": map[string]any{u.annotation(): string(encoded)}}})
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
	var begin time.Time
	more := false
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
		return u.record(ctx, record)
	}
	err = u.of.Server.Each(ctx, u.of.Server.Client, kind, false, func(object client.Object) (bool, error) {
		if key(object) <= record.After {
			return true, nil
		}
		if begin.IsZero() {
			begin = time.Now()
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
	if err == nil || execute.IsOutdated(err) || apierrors.IsNotFound(err) && !execute.IsTypeless(err) {
		return nil
	}
	return fmt.Errorf("storing %s %s again: %w", u.now.Spec.Names.Kind, name, err)
}
