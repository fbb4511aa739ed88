// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// ObjectSets is an ObjectSet, or an ObjectDeployment with its sets.
type ObjectSets struct {
	Target Target
	// Deployment is nil if the target is a set.
	Deployment v1alpha1.Deployment
	// Sets are the sets of the deployment, newest first, or just the set.
	Sets []v1alpha1.Set

	kind kind
}

// LookAtObjects reads a set, or a deployment and its sets. The result is nil if the target is neither, or does not
// exist.
func LookAtObjects(ctx context.Context, reader client.Reader, target Target) (*ObjectSets, error) {
	kind, isSets := target.sets()
	if !isSets {
		return nil, nil
	}
	raw := kind.unstructured()
	if err := reader.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: target.Name}, raw); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	found := &ObjectSets{Target: target, kind: kind}
	if kind.sets == "" {
		set, err := typed(raw, kind.newSet())
		found.Sets = []v1alpha1.Set{set}
		return found, err
	}
	var err error
	if found.Deployment, err = typed(raw, kind.newDeployment()); err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind.sets + "List"))
	if err := reader.List(ctx, list, client.InNamespace(target.Namespace), client.MatchingLabels{v1alpha1.LabelRevisionsOf: target.Name}); err != nil {
		return nil, fmt.Errorf("listing the sets of %s: %w", target, err)
	}
	for i := range list.Items {
		set, err := typed(&list.Items[i], kind.newSet())
		if err != nil {
			return nil, err
		}
		found.Sets = append(found.Sets, set)
	}
	found.Sets = objectset.History(found.Deployment, found.Sets)
	return found, nil
}

func (k kind) unstructured() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(k.name))
	return object
}

// typed converts an object.
func typed[T client.Object](raw *unstructured.Unstructured, into T) (T, error) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, into); err != nil {
		return into, fmt.Errorf("reading %s %s: %w", raw.GetKind(), raw.GetName(), err)
	}
	return into, nil
}

// SetTree has the objects of a set.
type SetTree struct {
	Set   v1alpha1.Set
	Nodes []*display.Node
}

// Conditions returns the conditions of the deployment or the set, without those of earlier generations.
func (f *ObjectSets) Conditions() []metav1.Condition {
	var found []metav1.Condition
	generation := int64(0)
	if f.Deployment != nil {
		generation, found = f.Deployment.GetGeneration(), slices.Clone(f.Deployment.GetDeploymentStatus().Conditions)
	} else {
		generation = f.Sets[0].GetGeneration()
		for _, condition := range f.Sets[0].GetStatus().Conditions {
			found = append(found, metav1.Condition{
				Type: string(condition.Type), Status: metav1.ConditionStatus(condition.Status),
				Reason: condition.Reason, Message: condition.Message, ObservedGeneration: condition.ObservedGeneration,
			})
		}
	}
	return slices.DeleteFunc(found, func(condition metav1.Condition) bool { return condition.ObservedGeneration != generation })
}

func (f *ObjectSets) isTrue(condition string) bool {
	return meta.IsStatusConditionTrue(f.Conditions(), condition)
}

// isReady reports whether the deployment is ready, or the set is available.
func (f *ObjectSets) isReady() bool {
	if f.Deployment == nil {
		return f.isTrue(string(v1alpha1.ConditionTypeAvailable))
	}
	return f.isTrue(v1alpha1.DeploymentReady)
}

// active returns the sets of a deployment that are not archived; without a deployment, the set.
func (f *ObjectSets) active() []v1alpha1.Set {
	return slices.DeleteFunc(slices.Clone(f.Sets), func(set v1alpha1.Set) bool {
		return f.Deployment != nil && set.GetSetSpec().GetPresence() == component.PresenceArchived
	})
}

// inspection returns the options for package live to read the objects of a set. The probes of the set judge these; the
// usual rules judge the objects that they own.
func (f *ObjectSets) inspection(c cluster.Client, set v1alpha1.Set) (live.Options, error) {
	items, err := itemsOf(c, set)
	if err != nil {
		return live.Options{}, err
	}
	name := f.reconcilerName()
	others := status.NewAnalyzer(name, status.Options{})
	all := judges.New(name, others)
	if probes, err := set.GetSetSpec().GetJudge(); err == nil {
		declared := map[types.ObjectID]bool{}
		for _, item := range items {
			declared[types.IDOf(item)] = true
		}
		all.Assign("", objectJudge{probes: probes, others: others, declared: declared})
	} // Otherwise, the status of the set says what is wrong with its probes.
	return live.Options{Client: c, Items: items, Judges: all}, nil
}

// objectJudge judges the objects of a set by its probes, and the objects that these own by the usual rules.
type objectJudge struct {
	probes, others status.Judge
	declared       map[types.ObjectID]bool
}

var _ status.MetadataJudge = objectJudge{}

// Judge implements status.Judge.
func (j objectJudge) Judge(object *unstructured.Unstructured) status.Result {
	if j.declared[types.IDOf(object)] {
		return j.probes.Judge(object)
	}
	return j.others.Judge(object)
}

// Rules implements status.Judge.
func (j objectJudge) Rules() string { return j.probes.Rules() + "\n" + j.others.Rules() }

// JudgesMetadata implements status.MetadataJudge: the content of ConfigMaps and the like is read if a probe may look at
// it.
func (j objectJudge) JudgesMetadata(kind schema.GroupKind) bool {
	metadata, ok := j.probes.(status.MetadataJudge)
	return ok && metadata.JudgesMetadata(kind)
}

// reconcilerName returns the prefix of the marks on objects, which is also the field manager.
func (f *ObjectSets) reconcilerName() string {
	if f.kind.namespaced {
		return objectset.ObjectSetReconcilerName
	}
	return objectset.ClusterObjectSetReconcilerName
}

// itemsOf returns the objects that a set declares.
func itemsOf(c cluster.Client, set v1alpha1.Set) ([]*inventory.Item, error) {
	var items []*inventory.Item
	for i, phase := range set.GetSetSpec().Phases {
		for _, declared := range phase.Objects {
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(declared.Object.Raw); err != nil {
				return nil, fmt.Errorf("phase %q: reading a manifest: %w", phase.Name, err)
			}
			if namespaced, err := c.IsObjectNamespaced(object); err == nil && namespaced && object.GetNamespace() == "" {
				object.SetNamespace(set.GetNamespace())
			}
			kind := object.GroupVersionKind()
			item := &inventory.Item{ApplyOrder: i, Phase: inventory.PhaseReady}
			item.Group, item.Version, item.Kind = kind.Group, kind.Version, kind.Kind
			item.Namespace, item.Name = object.GetNamespace(), object.GetName()
			items = append(items, item)
		}
	}
	return items, nil
}

// tree returns the objects of a set, and what they own. Objects of other owners, which were handed over or never
// adopted, have the status NotOwned and no children. An archived set has no objects.
func (f *ObjectSets) tree(ctx context.Context, of inspection, look looking) (*live.Report, error) {
	if of.set.GetSetSpec().GetPresence() == component.PresenceArchived {
		return &live.Report{}, nil
	}
	report, err := look(ctx, of)
	if err != nil {
		return nil, err
	}
	for _, node := range report.Nodes {
		if node.State = stateInSet(node, of.set); node.Live == nil {
			continue
		}
		_, owner, _ := strings.Cut(node.Live.GetAnnotations()[f.reconcilerName()+"/"+types.AnnotationKeySuffixOwnerId], "/")
		if owner == strings.TrimPrefix(client.ObjectKeyFromObject(of.set).String(), "/") {
			continue
		}
		node.Status, node.Message, node.Children, node.Why = display.StatusStolen, "has no owner, and was not adopted", nil, nil
		node.State = display.StateUnready
		if owner != "" {
			// It was handed over, or was never part of this set.
			node.Message, node.State = "belongs to "+owner, display.StateStays
		}
	}
	return report, nil
}

// stateInSet returns the state of an object of a set. One that does not exist has not been created yet, unless the set has
// been available.
func stateInSet(node *display.Node, set v1alpha1.Set) display.State {
	succeeded, _ := set.GetStatus().GetCondition(v1alpha1.ConditionTypeSucceeded)
	switch {
	case node.IsReady():
		return display.StateReady
	case node.Status == status.FailedStatus:
		return display.StateFailed
	case node.Missing && succeeded.Status != component.ConditionTrue:
		return display.StatePending
	default:
		return display.StateUnready
	}
}

// kind is a kind of object sets or deployments.
type kind struct {
	name, plural string
	namespaced   bool
	// sets is the kind of the sets of a deployment; empty for sets.
	sets string
}

// kinds are all kinds.
var kinds = []kind{
	{name: "ObjectDeployment", plural: "objectdeployments", namespaced: true, sets: "ObjectSet"},
	{name: "ObjectSet", plural: "objectsets", namespaced: true},
	{name: "ClusterObjectDeployment", plural: "clusterobjectdeployments", sets: "ClusterObjectSet"},
	{name: "ClusterObjectSet", plural: "clusterobjectsets"},
}

// HasSets reports whether the target is a set or a deployment.
func (t Target) HasSets() bool {
	_, is := t.sets()
	return is
}

// sets returns the kind of a target that is a set or a deployment.
func (t Target) sets() (kind, bool) {
	at := slices.IndexFunc(kinds, func(k kind) bool {
		return t.Mapping != nil && t.Mapping.GroupVersionKind.GroupKind() == v1alpha1.GroupVersion.WithKind(k.name).GroupKind()
	})
	if at < 0 {
		return kind{}, false
	}
	return kinds[at], true
}

func (k kind) newDeployment() v1alpha1.Deployment {
	if k.namespaced {
		return &v1alpha1.ObjectDeployment{}
	}
	return &v1alpha1.ClusterObjectDeployment{}
}

func (k kind) newSet() v1alpha1.Set {
	if k.namespaced {
		return &v1alpha1.ObjectSet{}
	}
	return &v1alpha1.ClusterObjectSet{}
}

// RollBack asks the operator to roll a deployment back to a revision; 0 is the latest succeeded one before the current
// one. It returns the name of the set to return to. asked is false if the deployment already has the template of that
// set. RollBack refuses requests that the operator would refuse or defer.
func (f *ObjectSets) RollBack(ctx context.Context, c cluster.Client, revision int64) (name string, asked bool, err error) {
	target, err := f.rollbackTarget(revision)
	if err != nil {
		return "", false, err
	}
	if f.Deployment.GetDeploymentSpec().RollbackTo == nil && f.Deployment.Makes(target) {
		return target.GetName(), false, nil
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"rollbackTo":{"revision":%d}}}`, f.Deployment.GetUID(), revision)
	raw := f.kind.unstructured()
	raw.SetNamespace(f.Target.Namespace)
	raw.SetName(f.Target.Name)
	if err := c.Patch(ctx, raw, client.RawPatch(apitypes.MergePatchType, []byte(patch)), client.FieldOwner("clm")); err != nil {
		return "", false, fmt.Errorf("rolling back %s: %w", f.Target, err)
	}
	return target.GetName(), true, nil
}

// rollbackTarget returns the set to roll back to.
func (f *ObjectSets) rollbackTarget(revision int64) (v1alpha1.Set, error) {
	if f.Deployment == nil {
		return nil, fmt.Errorf("%s is a set; only deployments can be rolled back", f.Target)
	}
	if f.Deployment.GetDeletionTimestamp() != nil {
		return nil, &releases.RefusedError{Reason: fmt.Sprintf("%s is being deleted", f.Target)}
	}
	if f.Deployment.GetDeploymentSpec().Paused {
		return nil, &releases.RefusedError{Reason: fmt.Sprintf("%s is paused; set spec.paused to false first", f.Target)}
	}
	set, err := objectset.RollbackTarget(f.Deployment, f.Sets, revision)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Target, err)
	}
	return set, nil
}

// AwaitRollBack waits until a rollback is complete. It calls progress with the message of the deployment whenever that
// changes. The error is the reason why the rollback failed, or the cause of the context.
func (f *ObjectSets) AwaitRollBack(ctx context.Context, c cluster.Client, progress func(said string)) error {
	objects, err := dynamic.NewForConfigAndClient(c.Config(), c.HttpClient())
	if err != nil {
		return fmt.Errorf("setting up a watch: %w", err)
	}
	resource := objects.Resource(v1alpha1.GroupVersion.WithResource(f.kind.plural)).Namespace(f.Target.Namespace)
	selection := apiserver.ListSelection{Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, f.Target.Name).String()}
	last, errOver := "", errors.New("over")
	err = apiserver.Watch(ctx, apiserver.ListWatch(resource, selection), func(change apiserver.Change) error {
		deployment, err := f.deploymentIn(change)
		if err != nil || deployment == nil {
			return err
		}
		said, done, err := rollBackProgress(deployment)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", f.Target, err)
		case said == "" && last == "":
			said = "Waiting: for the operator to act on spec.rollbackTo"
		}
		if said != "" && said != last {
			last = said
			progress(said)
		}
		if done {
			return errOver
		}
		return nil
	})
	switch {
	case errors.Is(err, errOver):
		return nil
	case err == nil:
		return context.Cause(ctx)
	default:
		return err
	}
}

// deploymentIn returns the deployment in a change; nil if nothing has changed. The error says if it was deleted.
func (f *ObjectSets) deploymentIn(change apiserver.Change) (v1alpha1.Deployment, error) {
	switch {
	case len(change.Objects) == 0 && !change.All:
		return nil, nil
	case change.Deleted || len(change.Objects) == 0:
		return nil, fmt.Errorf("%s was deleted", f.Target)
	}
	raw, ok := change.Objects[0].(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("unexpected object %T", change.Objects[0])
	}
	return typed(raw, f.kind.newDeployment())
}

// rollBackProgress returns the message of a deployment about a rollback, and whether the rollback is complete; nothing
// if the operator has not seen it yet. The error is the reason why it does not continue.
func rollBackProgress(deployment v1alpha1.Deployment) (said string, done bool, err error) {
	status := deployment.GetDeploymentStatus()
	condition := meta.FindStatusCondition(status.Conditions, v1alpha1.DeploymentProgressing)
	isRequested := deployment.GetDeploymentSpec().RollbackTo != nil
	if condition == nil || status.ObservedGeneration != deployment.GetGeneration() || isRequested && condition.Reason != v1alpha1.ReasonRollbackRefused {
		return "", false, nil
	}
	said = condition.Reason + ": " + condition.Message
	if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.DeploymentStalled) {
		return "", false, errors.New(said)
	}
	return said, meta.IsStatusConditionTrue(status.Conditions, v1alpha1.DeploymentReady), nil
}
