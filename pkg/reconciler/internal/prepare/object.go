// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Object is an object of the request, with all information that is available before the cluster is observed. It does
// not change.
type Object struct {
	Effective
	Traits

	Index         int // in the objects of the request
	Key           types.ObjectID
	Version       string
	Digest        string
	Former        []string // other digests of the same manifest that may be recorded
	ManagedTypes  []inventory.TypeVersionInfo
	Instance      bool     // of a managed type, or of one that others may define
	Ends          bool     // it is a Job, or a Pod that is ready when it has ended; it is not needed then
	RemovesItself bool     // it counts as completed if it is gone after it was ready
	Decisive      bool     // its outcome decides something
	FailsFinally  bool     // it counts as failed if it is gone after it has failed
	Ordered       bool     // it says itself when it is deleted, and its manifest does not
	Suspended     bool     // its manifest is that of its suspended form
	Vanishing     bool     // it is deleted when it is suspended
	Unchanged     bool     // its suspended form is its manifest
	Incomplete    bool     // its suspended form was made without what its late manifest has
	Ending        bool     // it comes to its end as it was applied, and is not written any more
	Notes         []string // what is strange about its manifest
}

const (
	// DigestOnce is the digest of objects that are applied once.
	DigestOnce = "__once__"
	// DigestLate is the digest of objects whose manifests are not complete yet.
	DigestLate = "__late__"
	// DigestRules is the prefix of all other digests. It identifies their format.
	DigestRules = "2:"
	// DigestSuspended is the prefix of the digests of suspended forms.
	DigestSuspended = DigestRules + "suspended:"
	// DigestReleased is the prefix of the value that replaces the digest of orphaned objects, followed by the label
	// value of their former owner.
	DigestReleased = DigestRules + "released:"
)

// newObjects returns the desired objects for manifests, with the policies of their annotations. Objects of awaited
// types wait for their types.
func (p Preparer) newObjects(objects []*unstructured.Unstructured, source Source, awaited map[schema.GroupVersionKind]bool) ([]*Object, error) {
	wanted := make([]*Object, len(objects))
	problems, failures := make([][]string, len(objects)), make([]error, len(objects))
	concurrent.Do(len(objects), func(i int) { wanted[i], problems[i], failures[i] = p.newObject(i, objects[i], source) })
	for i, t := range wanted {
		if problem := t.attach(source.Objects[i]); problem != "" {
			problems[i] = append(problems[i], problem)
		}
	}
	if err := cmp.Or(failures...); err != nil {
		return nil, err
	}
	if all := slices.Concat(problems...); len(all) > 0 {
		return nil, inventory.NewRefusedError(all...)
	}
	managed := NewTypeSet(source.Additional)
	for _, t := range wanted {
		if len(t.ManagedTypes) > 0 {
			managed.Items[t.Key] = t.ManagedTypes
		}
	}
	for _, t := range wanted {
		t.AwaitsType = t.AwaitsType || awaited[t.GVK()]
		t.Instance = t.AwaitsType || managed.Instance(t.GVK())
	}
	return wanted, nil
}

// newObject returns the desired object for one manifest, with its policies and without its traits, and the problems
// with its policies.
func (p Preparer) newObject(index int, object *unstructured.Unstructured, source Source) (t *Object, problems []string, err error) {
	t = &Object{
		Index:        index,
		Key:          types.IDOf(object),
		Version:      object.GroupVersionKind().Version,
		ManagedTypes: ManagedTypesOf(object),
		Notes:        annotations.Strange(p.Keys.Prefix, object.GetAnnotations(), p.OwnAnnotations),
	}
	if t.Effective, problems = Parse(p.Keys.Prefix, object, Policies(t.Key.GroupKind, source.Policies)); len(problems) == 0 {
		t.Ends = p.ends(t.Key.GroupKind, object)
		t.RemovesItself = removesItself(object) || observe.RunsToCompletion(t.Key.GroupKind) && (source.RunOnce || t.Ends && runsOnce(t))
		t.Decisive = observe.RunsToCompletion(t.Key.GroupKind) && (t.RemovesItself || t.PurgeOrder != nil || t.PurgeOnFailure)
		t.FailsFinally = p.FailuresAreFinal && t.Decisive && t.RemovesItself
		var former string
		if t.Digest, former, err = digestsOf(object, t.Reconcile, source); former != "" {
			t.Former = []string{former}
		}
	}
	if problem := t.orderDeletion(object, source.Objects[index], p.Keys.Prefix); problem != "" {
		problems = append(problems, problem)
	}
	return t, problems, err
}

// orderDeletion takes the delete order from the behaviors of an object without an annotation, and returns the problem
// with it; empty if there is none.
func (t *Object) orderDeletion(manifest *unstructured.Unstructured, object client.Object, prefix string) string {
	ordered, ok := behaviors.Of[behaviors.Ordered](object)
	if !ok {
		return ""
	}
	if _, declared := manifest.GetAnnotations()[prefix+types.AnnotationKeySuffixDeleteOrder]; declared {
		return ""
	}
	t.DeleteOrder, t.Ordered = ordered.DeleteOrder(), true
	if t.DeleteOrder < types.MinOrder || t.DeleteOrder > types.MaxOrder {
		return fmt.Sprintf("%s: invalid delete order %d; must be from %d to %d", t.Key, t.DeleteOrder, types.MinOrder, types.MaxOrder)
	}
	return ""
}

// attach records the behaviors that are attached to the object, and returns the problem with them; empty if there is
// none.
func (t *Object) attach(object client.Object) string {
	var problem string
	t.Traits, problem = traitsOf(object)
	t.Unawaited = t.Unawaited || t.AwaitNever
	t.ReadsContent = t.ReadsContent || judgesContent(object, t.Key.GroupKind)
	switch {
	case problem != "":
		return fmt.Sprintf("%s: %s", t.Key, problem)
	case t.Hook == types.ApplyHookOnFailure && t.dependsOnOthers():
		return fmt.Sprintf("%s: an on-failure hook cannot depend on data of other objects, be guarded or be suspended", t.Key)
	case t.Late && len(t.ManagedTypes) > 0:
		return fmt.Sprintf("%s: an object that defines types cannot be late, because the types of other objects depend on it", t.Key)
	case t.Suspending && vanishes(object) && (len(t.ManagedTypes) > 0 || IsNamespace(t.Key.GroupKind)):
		return fmt.Sprintf("%s: a namespace or an object that defines types cannot be deleted when it is suspended, because other objects would be deleted with it", t.Key)
	case t.Late && t.Digest != DigestOnce:
		t.Digest, t.Former = DigestLate, nil
	}
	return ""
}

// dependsOnOthers reports whether behaviors of the object need other objects of the same call, or the state of the
// owner.
func (t *Traits) dependsOnOthers() bool {
	return t.Guarded || t.Extracting || t.Reading || t.Late || t.Suspending
}

// VanishesAtOnce reports whether nothing has to happen before the object is deleted because it is suspended.
func (t *Object) VanishesAtOnce() bool { return t.Vanishing && t.Unchanged && !t.Judged }

// vanishes reports whether an object is deleted when it is suspended.
func vanishes(object client.Object) bool {
	suspending, ok := behaviors.Of[behaviors.Suspending](object)
	return ok && suspending.IsDeleted()
}

// GVK returns the type of the desired object.
func (t *Object) GVK() schema.GroupVersionKind {
	return t.Key.WithVersion(t.Version)
}

// digestsOf returns the digest of a manifest, and the digest that may be recorded instead: without a key, and with the
// owner's former digest if there is one. former is empty if both are equal.
func digestsOf(object *unstructured.Unstructured, policy inventory.ReconcilePolicy, source Source) (now, former string, err error) {
	former, err = DigestOf(object, policy, cmp.Or(source.FormerDigest, source.Digest))
	if err != nil || policy == inventory.ReconcilePolicyOnce {
		return former, "", err
	}
	sum, _, _ := strings.Cut(strings.TrimPrefix(former, DigestRules), "@")
	if len(source.DigestKey) > 0 && object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		sum = manifest.Keyed(source.DigestKey, sum)[:len(sum)]
	}
	now = DigestRules + sum
	if policy == inventory.ReconcilePolicyOnObjectOrComponentChange {
		now += "@" + source.Digest
	}
	if now == former {
		former = ""
	}
	return now, former, nil
}

// DigestOf returns the digest of a manifest, without a key.
func DigestOf(object *unstructured.Unstructured, policy inventory.ReconcilePolicy, componentDigest string) (string, error) {
	switch policy {
	case inventory.ReconcilePolicyOnce:
		return DigestOnce, nil
	case inventory.ReconcilePolicyOnObjectChange, inventory.ReconcilePolicyOnObjectOrComponentChange:
	}
	sum, err := manifest.Digest(object.Object)
	if err != nil {
		return "", fmt.Errorf("computing the digest of %s: %w", types.IDOf(object).String(), err)
	}
	// Half of the hash suffices to notice a change. It is part of each status, once per dependent.
	sum = sum[:len(sum)/2]
	if policy == inventory.ReconcilePolicyOnObjectOrComponentChange {
		sum += "@" + componentDigest
	}
	return DigestRules + sum, nil
}

// Stage ranks desired objects within a wave; a stage begins when the one before is ready.
type Stage int

const (
	Regular   Stage = iota
	Late            // APIServices, whose backends are among the regular objects
	Instances       // instances of managed types
)

// Stage returns the stage in which the desired object is applied.
func (t *Object) Stage() Stage {
	switch {
	case t.Instance:
		return Instances
	case IsAPIService(t.Key.GroupKind):
		return Late
	default:
		return Regular
	}
}

// IsContainer reports whether objects of the kind only hold data.
func IsContainer(key types.ObjectID) bool {
	return key.Group == "" && (key.Kind == "Secret" || key.Kind == "ConfigMap")
}

// DeclaresData reports whether the manifest of a Secret or ConfigMap has content.
func DeclaresData(object *unstructured.Unstructured) bool {
	data, _, _ := unstructured.NestedMap(object.Object, "data")
	binary, _, _ := unstructured.NestedMap(object.Object, "binaryData")
	return len(data)+len(binary) > 0
}

// runsOnce reports whether an object that ends is a hook, or runs once for each state of the owner. If such an object
// is gone after it was ready, it has served its purpose.
func runsOnce(t *Object) bool {
	return t.Reconcile == inventory.ReconcilePolicyOnObjectOrComponentChange || t.Hook != ""
}

// ends reports whether an object is a Job, or a Pod that is ready when it has ended. Other Pods run as long as they
// exist.
func (p Preparer) ends(kind schema.GroupKind, object *unstructured.Unstructured) bool {
	hints, _ := status.ParseHints(object.GetAnnotations()[p.Keys.Prefix+types.AnnotationKeySuffixStatusHint])
	return observe.RunsToCompletion(kind) && (kind.Kind != "Pod" || hints.RunToCompletion)
}

// removesItself reports whether the object is a Job that is deleted some time after it has finished.
func removesItself(object *unstructured.Unstructured) bool {
	if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "batch", Kind: "Job"}) {
		return false
	}
	ttl, found, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "ttlSecondsAfterFinished")
	return found && ttl != nil
}

// Effective are the effective policies of an object: from its annotations or, by default, from its owner.
type Effective struct {
	Adoption  inventory.AdoptionPolicy
	Reconcile inventory.ReconcilePolicy
	Update    inventory.UpdatePolicy
	// RecreateIfImmutable means that the object is recreated if an immutable field would change, regardless of Update.
	RecreateIfImmutable bool
	// IgnoreFields are fields that belong to the clients that change them.
	IgnoreFields []fieldpath.Path
	Delete       inventory.DeletePolicy
	// Prune is the policy of the object itself; empty if the owner decides.
	Prune inventory.PrunePolicy
	Drift inventory.DriftPolicy
	// Hook is the event after which the object is applied; empty if it is not an apply hook. Then the apply and purge
	// orders are above those of other objects.
	Hook           string
	ApplyOrder     int
	PurgeOrder     *int
	PurgeOnFailure bool
	DeleteOrder    int
	// DeletePropagation is empty for Background, which is not recorded.
	DeletePropagation metav1.DeletionPropagation
	ReapplyInterval   time.Duration
	// ReadyTimeout is how long the object may take to become ready after it was written; zero if it may take any time.
	ReadyTimeout time.Duration
	// Continues means that the next wave begins after ReadyTimeout.
	Continues bool
	// AwaitsType means that the type of the object need not be served before the object's wave.
	AwaitsType bool
	// Unchecked means that a CustomResourceDefinition may become narrower than its instances allow.
	Unchecked bool
	// AwaitNever means that nothing waits until the object is ready.
	AwaitNever bool
	// ReadsContent means that ready-when, fail-when or a judge of the object's own may read any field of the object.
	ReadsContent bool
}

// Parse reads the annotations of an object. Each problem names object, key, value and the allowed values.
func Parse(prefix string, object *unstructured.Unstructured, policies inventory.Policies) (Effective, []string) {
	p := &annotationParser{prefix: prefix, object: types.IDOf(object).String(), values: object.GetAnnotations()}
	hook := parseAnnotation(p, types.AnnotationKeySuffixApplyHook, textOf(types.AnnotationKeySuffixApplyHook))
	policies = ofHook(hook, object, policies)
	b := Effective{
		Hook:                hook,
		Adoption:            cmp.Or(parsePolicy[inventory.AdoptionPolicy](p, types.AnnotationKeySuffixAdoptionPolicy), policies.Adoption),
		Reconcile:           cmp.Or(parsePolicy[inventory.ReconcilePolicy](p, types.AnnotationKeySuffixReconcilePolicy), policies.Reconcile),
		Update:              cmp.Or(parsePolicy[inventory.UpdatePolicy](p, types.AnnotationKeySuffixUpdatePolicy), policies.Update),
		RecreateIfImmutable: parseAnnotation(p, types.AnnotationKeySuffixRecreateIfImmutable, annotations.Flag),
		IgnoreFields:        parseAnnotation(p, types.AnnotationKeySuffixIgnoreFields, p.fields),
		Delete:              cmp.Or(parsePolicy[inventory.DeletePolicy](p, types.AnnotationKeySuffixDeletePolicy), policies.Delete),
		Prune:               parsePolicy[inventory.PrunePolicy](p, types.AnnotationKeySuffixPrunePolicy),
		Drift:               cmp.Or(parsePolicy[inventory.DriftPolicy](p, types.AnnotationKeySuffixDriftPolicy), policies.Drift),
		ApplyOrder:          parseAnnotation(p, types.AnnotationKeySuffixApplyOrder, annotations.Order),
		PurgeOnFailure:      parseAnnotation(p, types.AnnotationKeySuffixPurgeOnFailure, annotations.Flag),
		DeleteOrder:         parseAnnotation(p, types.AnnotationKeySuffixDeleteOrder, annotations.Order),
		ReapplyInterval:     cmp.Or(parseAnnotation(p, types.AnnotationKeySuffixReapplyInterval, annotations.Interval), policies.ReapplyInterval),
	}
	b.DeletePropagation = cmp.Or(parsePolicy[metav1.DeletionPropagation](p, types.AnnotationKeySuffixDeletePropagation), policies.DeletePropagation)
	if b.DeletePropagation == metav1.DeletePropagationBackground {
		b.DeletePropagation = ""
	}
	b.ReadyTimeout = parseAnnotation(p, types.AnnotationKeySuffixReadyTimeout, annotations.Interval)
	b.Continues = parseAnnotation(p, types.AnnotationKeySuffixReadyTimeoutPolicy, textOf(types.AnnotationKeySuffixReadyTimeoutPolicy)) == types.ReadyTimeoutPolicyContinue
	b.AwaitsType = parseAnnotation(p, types.AnnotationKeySuffixMissingTypePolicy, textOf(types.AnnotationKeySuffixMissingTypePolicy)) == types.MissingTypePolicyWait
	b.Unchecked = parseAnnotation(p, types.AnnotationKeySuffixCRDUpgradePolicy, textOf(types.AnnotationKeySuffixCRDUpgradePolicy)) == types.CRDUpgradePolicyAllow
	b.AwaitNever = parseAnnotation(p, types.AnnotationKeySuffixAwait, textOf(types.AnnotationKeySuffixAwait)) == types.AwaitNever
	if b.Continues && b.ReadyTimeout == 0 && len(p.problems) == 0 {
		p.problems = append(p.problems, fmt.Sprintf("%s: annotation %s: it has no effect without %s; set a duration such as 10m",
			p.object, prefix+types.AnnotationKeySuffixReadyTimeoutPolicy, prefix+types.AnnotationKeySuffixReadyTimeout))
	}
	if _, ok := p.values[prefix+types.AnnotationKeySuffixDeleteOrder]; !ok && policies.DeleteOrder == inventory.DeleteOrderReversed {
		b.DeleteOrder = min(-b.ApplyOrder, types.MaxOrder)
	}
	if _, ok := p.values[prefix+types.AnnotationKeySuffixPurgeOrder]; ok {
		order := parseAnnotation(p, types.AnnotationKeySuffixPurgeOrder, annotations.Order)
		b.PurgeOrder = &order
	}
	b.takePlace(p)
	parseAnnotation(p, types.AnnotationKeySuffixStatusHint, status.ParseHints)
	readyWhen := parseAnnotation(p, types.AnnotationKeySuffixReadyWhen, judges.Compile)
	failWhen := parseAnnotation(p, types.AnnotationKeySuffixFailWhen, judges.Compile)
	b.ReadsContent = readyWhen != nil || failWhen != nil
	for suffix, problem := range notInManifests {
		parseAnnotation(p, suffix, func(string) (string, error) { return "", errors.New(problem) })
	}
	return b, p.problems
}

// notInManifests are the suffixes of annotations that must not be in manifests, with the reason.
var notInManifests = map[string]string{
	types.AnnotationKeySuffixDeletionHook: "deletion hooks must be taken out before dependents are applied",
	types.AnnotationKeySuffixReleaseHook:  "release hooks must be taken out before dependents are applied; components have none",
	types.AnnotationKeySuffixVersioned:    "only ConfigMaps and Secrets of releases of clm have versions; components have none",
	types.AnnotationKeySuffixKeptVersions: "only ConfigMaps and Secrets of releases of clm have versions; components have none",
}

type annotationParser struct {
	prefix   string
	object   string
	values   map[string]string
	problems []string
}

// AwaitsType reports whether the type of an object need not be served before the object's wave: according to its
// annotations or, if they do not set it, to the default.
func AwaitsType(prefix string, values map[string]string, byDefault bool) bool {
	text, declared := values[prefix+types.AnnotationKeySuffixMissingTypePolicy]
	if !declared {
		return byDefault
	}
	policy, _ := textOf(types.AnnotationKeySuffixMissingTypePolicy)(text)
	return policy == types.MissingTypePolicyWait
}

// fields parses the list of fields that belong to others. It rejects the reconciler's own annotations.
func (p *annotationParser) fields(text string) ([]fieldpath.Path, error) {
	paths, err := annotations.Fields(text)
	for _, path := range paths {
		if last := path[len(path)-1].FieldName; last != nil && strings.HasPrefix(*last, p.prefix) {
			return nil, fmt.Errorf("invalid value %q: %s belongs to the reconciler", text, path)
		}
	}
	return paths, err
}

func parsePolicy[P ~string](p *annotationParser, suffix string) P {
	return parseAnnotation(p, suffix, policyOf[P](suffix))
}

func parseAnnotation[T any](p *annotationParser, suffix string, parse func(string) (T, error)) T {
	var zero T
	text, ok := p.values[p.prefix+suffix]
	if !ok {
		return zero
	}
	value, err := parse(text)
	if err != nil {
		p.problems = append(p.problems, fmt.Sprintf("%s: annotation %s: %s", p.object, p.prefix+suffix, err))
		return zero
	}
	return value
}

// Traits report the behaviors that are attached to an object.
type Traits struct {
	// Step is the step of the wave in which the object is applied.
	Step int
	// Guarded, Extracting, Reading, Resetting and Late mean that the object has these behaviors.
	Guarded, Extracting, Reading, Resetting, Late bool
	// Judged means that the object has its own judge.
	Judged bool
	// Suspending means that the object has a suspended form.
	Suspending bool
	// Grace is how long the object may be not ready before its grade counts; zero if there is no limit.
	Grace time.Duration
	// Unawaited means that nothing waits until the object is ready.
	Unawaited bool
}

// traitsOf returns the traits of an object, and the problem with its behaviors; empty if there is none.
func traitsOf(object client.Object) (traits Traits, problem string) {
	if unknown := behaviors.Unknown(object); len(unknown) > 0 {
		const allowed = "Stepped, Guarded, Extracting, Reading, Late, Awaited, Ordered, Graceful, Resetting, Suspending or Judged"
		return traits, fmt.Sprintf("a value of type %s is attached to it, which is not a behavior; must implement %s", strings.Join(unknown, ", "), allowed)
	}
	if stepped, ok := behaviors.Of[behaviors.Stepped](object); ok {
		traits.Step = stepped.Step()
	}
	if traits.Step < 0 {
		return traits, fmt.Sprintf("invalid step %d; must not be negative", traits.Step)
	}
	if awaited, ok := behaviors.Of[behaviors.Awaited](object); ok {
		traits.Unawaited = !awaited.IsAwaited()
	}
	if graceful, ok := behaviors.Of[behaviors.Graceful](object); ok {
		traits.Grace = graceful.GracePeriod()
	}
	_, traits.Guarded = behaviors.Of[behaviors.Guarded](object)
	_, traits.Extracting = behaviors.Of[behaviors.Extracting](object)
	if reading, ok := behaviors.Of[behaviors.Reading](object); ok {
		traits.Reading = true
		for i, read := range reading.Reads() {
			if read.Kind == "" || read.Version == "" || read.Name == "" || read.Take == nil {
				return traits, fmt.Sprintf("read %d (%s %s): version, kind, name and Take are required", i, read.GroupVersionKind, read.NamespacedName)
			}
		}
	}
	_, traits.Resetting = behaviors.Of[behaviors.Resetting](object)
	_, traits.Late = behaviors.Of[behaviors.Late](object)
	_, traits.Suspending = behaviors.Of[behaviors.Suspending](object)
	_, traits.Judged = behaviors.Of[behaviors.Judged](object)
	return traits, ""
}

// judgesContent reports whether an object has its own judge, and this judge reads more than metadata.
func judgesContent(object client.Object, kind schema.GroupKind) bool {
	judge, ok := behaviors.Of[behaviors.Judged](object)
	if !ok {
		return false
	}
	metadata, ok := judge.(status.MetadataJudge)
	return !ok || !metadata.JudgesMetadata(kind)
}
