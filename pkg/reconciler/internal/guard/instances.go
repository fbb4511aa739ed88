// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// inquiry is one search for instances of managed types.
type inquiry struct {
	losses  *Losses
	demands []Demand
	except  string // value of the owner label; its objects and the owner itself do not count; if empty, all objects count
	// recorded returns the items of the owner by object. It is lazy because it reads all items, which calls for other
	// objects may be writing.
	recorded func() map[types.ObjectID]*inventory.Item
}

// Instances returns one instance for each demanded type that has instances without the given owner label (if the label
// is empty: any instances); at most maxBlockers types. It asks about several types in parallel.
func (l *Losses) Instances(ctx context.Context, demands []Demand, except string) ([]inventory.Blocker, error) {
	mappings, err := l.resolve(ctx, demands)
	if err != nil {
		return nil, err
	}
	q := inquiry{
		losses: l, demands: demands, except: except,
		recorded: sync.OnceValue(func() map[types.ObjectID]*inventory.Item { return decide.Index(l.Items) }),
	}
	found := make([]*inventory.Blocker, len(mappings))
	err = concurrent.Each(l.Server.Concurrency, mappings, func(i int, mapping *meta.RESTMapping) (err error) {
		found[i], err = q.anInstance(ctx, mapping)
		return err
	})
	if err != nil {
		return nil, err
	}
	var blockers []inventory.Blocker
	for _, blocker := range found {
		if blocker != nil && len(blockers) < maxBlockers {
			blockers = append(blockers, *blocker)
		}
	}
	slices.SortFunc(blockers, func(a, b inventory.Blocker) int { return cmp.Compare(a.String(), b.String()) })
	return blockers, nil
}

// anInstance returns one instance of a type; nil if there is none. Discovery may be outdated: another version of the
// type may be served, and a server that forbids listing does not reveal that the type is not served at all.
func (q *inquiry) anInstance(ctx context.Context, mapping *meta.RESTMapping) (*inventory.Blocker, error) {
	found, err := q.search(ctx, mapping)
	if !execute.IsTypeless(err) && !apierrors.IsForbidden(err) {
		return found, err
	}
	served, lookErr := q.losses.Server.ServedNow(ctx, mapping.GroupVersionKind.GroupKind())
	switch {
	case lookErr != nil:
		return nil, lookErr
	case served == nil:
		return nil, nil
	case execute.IsTypeless(err):
		return q.search(ctx, served)
	default:
		return nil, err
	}
}

// search lists a type as the client. If that is forbidden, the other reader lists it, but only to determine whether
// there are instances, and not if only the owner names the type. With except, instances do not count if the type's
// definition is no longer ours. Without it, any instance counts, because the definition is about to be deleted.
func (q *inquiry) search(ctx context.Context, mapping *meta.RESTMapping) (*inventory.Blocker, error) {
	found, err := q.list(ctx, q.losses.Server.Client, mapping)
	forbidden := apierrors.IsForbidden(err)
	if !forbidden && (found == nil || q.except == "") {
		return found, err
	}
	who, lookErr := q.lister(ctx, mapping.GroupVersionKind)
	switch {
	case lookErr != nil:
		return nil, lookErr
	case who == listedByNobody && q.except == "":
		return nil, err
	case who == listedByNobody:
		return nil, nil
	case !forbidden:
		return found, nil
	case who == listedByClient:
		return nil, fmt.Errorf("%s is one of the additional managed types: %w", mapping.GroupVersionKind.GroupKind(), err)
	case q.losses.Server.Reading == nil:
		return nil, err
	}
	found, err = q.list(ctx, q.losses.Server.Reading, mapping)
	if found != nil {
		found.Namespace, found.Name = "", ""
	}
	return found, err
}

// list returns one instance of a type that counts; nil if there is none.
//
// The first page has no label selector, and a limit: the API server reads such a list from etcd while its cache of the
// type is empty. With a selector it would answer 429 (Too Many Requests), and ask to come again after a second, for
// each type that was not listed before.
func (q *inquiry) list(ctx context.Context, clnt cluster.Client, mapping *meta.RESTMapping) (found *inventory.Blocker, err error) {
	kind, seen := mapping.GroupVersionKind, 0
	visit := func(object client.Object) bool {
		seen++
		if q.except == "" || !q.isOwn(object) && !q.isDeparting(object) {
			found = &inventory.Blocker{Type: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
		}
		return found == nil
	}
	const few = 2 // one may be the owner itself
	err = q.losses.Server.Each(ctx, clnt, kind, false, func(object client.Object) (bool, error) { return visit(object) && seen < few, nil }, client.Limit(few))
	if err == nil && found == nil && seen == few {
		var foreign labels.Selector
		if foreign, err = labels.Parse(q.losses.Server.Keys.OwnerLabel + "!=" + q.except); err != nil {
			return nil, fmt.Errorf("selecting foreign instances: %w", err)
		}
		err = q.losses.Server.Each(ctx, clnt, kind, false, func(object client.Object) (bool, error) { return visit(object), nil }, client.MatchingLabelsSelector{Selector: foreign})
	}
	if err != nil {
		return nil, fmt.Errorf("listing instances of %s: %w", kind.GroupKind(), err)
	}
	return found, nil
}

// isOwn reports whether an instance belongs to the owner: it has our label, it is the owner itself, or it is a
// dependent whose label others have removed. The record alone does not prove that; we must have written the instance.
func (q *inquiry) isOwn(instance client.Object) bool {
	label := instance.GetLabels()[q.losses.Server.Keys.OwnerLabel]
	if label == q.except {
		return true
	}
	if q.losses.Owner.Self != nil && types.IDOf(instance) == types.IDOf(q.losses.Owner.Self) {
		return true
	}
	item := q.recorded()[types.IDOf(instance)]
	return item != nil && item.UID != "" && item.UID == instance.GetUID() &&
		label == "" && !fieldset.IsCopy(instance, q.losses.Server.FieldOwner)
}

// isDeparting reports whether an instance is about to go, so that it does not count. Another object of the same name
// counts. If no UID is recorded, because the process that created the instance died, its label and its field manager
// prove its owner.
func (q *inquiry) isDeparting(instance client.Object) bool {
	return slices.ContainsFunc(q.losses.Departing, func(owner Departing) bool {
		isWritten := instance.GetLabels()[q.losses.Server.Keys.OwnerLabel] == owner.Label && !fieldset.IsCopy(instance, q.losses.Server.FieldOwner)
		return slices.ContainsFunc(owner.Items, func(item *inventory.Item) bool {
			return types.IDOf(item) == types.IDOf(instance) && (item.UID == instance.GetUID() || item.UID == "" && isWritten)
		})
	})
}

// Demand is a managed type, or a pattern of types, whose instances block a deletion.
type Demand struct {
	inventory.TypeVersionInfo
	// definition is the dependent that defines the type; nil if it is an additional one.
	definition *inventory.Item
	// configured means that the reconciler's options, not the owner, name the additional type.
	configured bool
}

// Demands returns the managed types of the owner, except those whose definitions will be orphaned: their instances
// stay.
func (l *Losses) Demands(ctx context.Context) ([]Demand, error) {
	var demands []Demand
	for i, additional := range slices.Concat(l.Configured, l.Owner.AdditionalManagedTypes) {
		pattern := inventory.TypeVersionInfo{Group: additional.Group, Version: prepare.Wildcard, Kind: additional.Kind}
		demands = append(demands, Demand{TypeVersionInfo: pattern, configured: i < len(l.Configured)})
	}
	for _, item := range l.Items {
		if item.Phase == inventory.PhaseCompleted || prepare.IsOrphanedOnDelete(item.DeletePolicy) {
			continue
		}
		defined, err := l.DefinedBy(ctx, item)
		if err != nil {
			return nil, err
		}
		demands = append(demands, defined...)
	}
	return demands, nil
}

// DefinedBy returns the types that a dependent defines, according to its name. Recorded types count only if they match
// the name, so that instances are not lost because of a forged or incomplete record; otherwise the definition itself is
// read.
func (l *Losses) DefinedBy(ctx context.Context, item *inventory.Item) ([]Demand, error) {
	var defined []inventory.TypeVersionInfo
	switch kind := item.GroupVersionKind().GroupKind(); {
	case prepare.IsAPIService(kind):
		if version, group, ok := strings.Cut(item.Name, "."); ok {
			defined = []inventory.TypeVersionInfo{{Group: group, Version: version, Kind: prepare.Wildcard}}
		}
	case prepare.IsCRD(kind):
		var err error
		if defined, err = l.crdTypes(ctx, item); err != nil {
			return nil, err
		}
	}
	demands := make([]Demand, len(defined))
	for i, pattern := range defined {
		demands[i] = Demand{TypeVersionInfo: pattern, definition: item}
	}
	return demands, nil
}

// crdTypes returns the type that a CustomResourceDefinition defines, in any version; nothing if the
// CustomResourceDefinition does not exist.
func (l *Losses) crdTypes(ctx context.Context, item *inventory.Item) ([]inventory.TypeVersionInfo, error) {
	for _, recorded := range item.ManagedTypes {
		mapping, err := l.Server.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: recorded.Group, Kind: recorded.Kind})
		switch {
		case cluster.IsNoMatch(err):
		case err != nil:
			return nil, fmt.Errorf("finding type %s.%s: %w", recorded.Kind, recorded.Group, err)
		case mapping.Resource.GroupResource().String() == item.Name:
			return []inventory.TypeVersionInfo{{Group: recorded.Group, Version: prepare.Wildcard, Kind: recorded.Kind}}, nil
		}
	}
	s, err := l.Server.AskAnyway(ctx, item)
	if err != nil || !s.Exists {
		return nil, err
	}
	return prepare.ManagedTypesOf(s.Live), nil
}

// lister is the identity that lists instances that the client may not list.
type lister int

const (
	listedByNobody lister = iota // nobody: the recorded definition of the type is not ours (any more), so its instances do not count
	listedByClient               // only the client: the owner has named the type, and must not learn what its identity may not read
	listedByReader               // the client of the reconciler from which Reconciler.As made this one
)

// lister returns the identity that lists the instances of a type. The record does not prove that an owner defines a
// type; the definition must be ours.
func (q *inquiry) lister(ctx context.Context, gvk schema.GroupVersionKind) (lister, error) {
	who := listedByNobody
	for _, d := range q.demands {
		switch {
		case !prepare.Matches(d.TypeVersionInfo, gvk):
		case d.configured:
			return listedByReader, nil
		case d.definition == nil:
			who = listedByClient
		default:
			if ours, err := q.losses.isOurs(ctx, d.definition); ours || err != nil {
				return listedByReader, err
			}
		}
	}
	return who, nil
}

// isOurs reports whether a recorded object exists, and the owner is about to delete it.
func (l *Losses) isOurs(ctx context.Context, recorded *inventory.Item) (bool, error) {
	item := recorded.DeepCopy()
	s, err := l.Server.LookServed(ctx, item)
	if err != nil {
		return false, fmt.Errorf("looking at %s: %w", types.IDOf(item), err)
	}
	action, _ := l.Owner.Ending(item, s, decide.Deletion{})
	return action != decide.Gone, nil
}

// IsNothingLeft reports whether it is certain that no dependent exists any more.
func (l *Losses) IsNothingLeft(ctx context.Context) bool {
	return !slices.ContainsFunc(l.Items, func(recorded *inventory.Item) bool {
		if decide.Unwanted(recorded, prepare.IsOrphanedOnDelete) == nil {
			return false
		}
		ours, err := l.isOurs(ctx, recorded)
		return ours || err != nil
	})
}

// Departing is an owner whose objects are about to be deleted.
type Departing struct {
	// Label is the value of the owner label of its objects.
	Label string
	Items []*inventory.Item
}

// Losses determines which objects the deletion of an owner's dependents would destroy.
type Losses struct {
	Server *execute.Server
	Owner  decide.Owner
	// Configured are the additional managed types of the reconciler's options.
	Configured []inventory.TypeInfo
	Memory     decide.OwnerMemory
	Items      []*inventory.Item // of the owner
	// Departing are other owners whose objects are about to be deleted, and so do not count as foreign instances.
	Departing []Departing
	// Remaining returns the items that are still recorded.
	Remaining func() []*inventory.Item

	staying sync.Map // redundant items whose objects stay
}

// Stay records that a redundant object is not deleted although others are. It is safe for concurrent use.
func (l *Losses) Stay(item *inventory.Item) { l.staying.Store(item, true) }

// Leave notes that a redundant object does not stay, or is gone.
func (l *Losses) Leave(item *inventory.Item) { l.staying.Delete(item) }

// Retains reports whether the deletion of an object would delete redundant objects that stay: the object is their
// namespace, or defines their type. It makes no request, and is safe for concurrent use.
func (l *Losses) Retains(item *inventory.Item) bool {
	isNamespace := prepare.IsNamespace(item.GroupVersionKind().GroupKind())
	if !isNamespace && len(item.ManagedTypes) == 0 {
		return false
	}
	for key := range l.staying.Range {
		other, _ := key.(*inventory.Item)
		isInstance := slices.ContainsFunc(item.ManagedTypes, func(defined inventory.TypeVersionInfo) bool {
			return prepare.Matches(defined, other.GroupVersionKind())
		})
		if other != item && (isInstance || isNamespace && other.Namespace == item.Name) {
			return true
		}
	}
	return false
}

// isHolder reports whether objects of the kind hold content that is lost when they are recreated, even if they do not
// own it. Objects that define types do so too; requestEnd checks their instances before any deletion.
func isHolder(kind schema.GroupKind) bool {
	return prepare.IsNamespace(kind) || kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} || kind == schema.GroupKind{Kind: "PersistentVolume"}
}

// heldData describes the data that a claim or volume holds; empty if it was never bound.
func heldData(object *unstructured.Unstructured) string {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		if volume, _, _ := unstructured.NestedString(object.Object, "spec", "volumeName"); volume != "" {
			return "data, in PersistentVolume " + volume
		}
	case schema.GroupKind{Kind: "PersistentVolume"}:
		claim, _, _ := unstructured.NestedStringMap(object.Object, "spec", "claimRef")
		if name, _, _ := unstructured.NestedString(object.Object, "spec", "claimRef", "name"); name != "" {
			return "the data of " + types.ObjectText(schema.GroupKind{Kind: "PersistentVolumeClaim"}, claim["namespace"], name)
		}
	}
	return ""
}

// KeepsFromRecreation returns the reason why the object with the UID must not be recreated; empty if it may be
// recreated. live is the object, required if DependsOnContent reports true.
func (l *Losses) KeepsFromRecreation(ctx context.Context, item *inventory.Item, uid apitypes.UID, live *unstructured.Unstructured) (string, error) {
	kind := item.GroupVersionKind().GroupKind()
	var held string
	switch {
	case prepare.IsNamespace(kind):
		// Its dependents would be destroyed as well.
		found, err := l.contentOf(ctx, item, false)
		if err != nil {
			return "", err
		}
		held = found.String()
	case prepare.DefinesTypes(kind):
		defined, err := l.DefinedBy(ctx, item)
		if err != nil {
			return "", err
		}
		blockers, err := l.Instances(ctx, defined, "")
		if apierrors.IsForbidden(err) {
			return notRecreated("it is not known whether there are instances of its types: "+err.Error(), "grant the permission"), nil
		}
		if err != nil || len(blockers) == 0 {
			return "", err
		}
		return HeldByInstances(Texts(blockers)), nil
	case isHolder(kind):
		held = heldData(live)
	default:
		return l.claims(ctx, item, uid, live)
	}
	if held == "" {
		return "", nil
	}
	return notRecreated("it holds "+held+", which would be destroyed", "move or delete its contents first"), nil
}

// HeldByInstances returns the reason why an object that defines types must not be recreated. Instances of the owner
// count too, because they would be lost.
func HeldByInstances(instances string) string {
	return notRecreated("there are instances of its types: "+instances, "delete them first")
}

// notRecreated returns a message that an object must not be recreated, with the reason and a remedy.
func notRecreated(reason, remedy string) string {
	return fmt.Sprintf("cannot be recreated, because %s; use another update policy, remove the annotation recreate-if-immutable, or %s", reason, remedy)
}

// DependsOnContent reports whether KeepsFromRecreation needs the object itself.
func DependsOnContent(kind schema.GroupKind) bool { return isHolder(kind) || isStatefulSet(kind) }

// claims returns the reason why an object that owns claims, or (if it is cluster-scoped) volumes, with data must not be
// recreated: garbage collection would delete them. It is empty if the object may be recreated. A custom resource may
// own claims through other objects, so all owned claims count for it. If listing is forbidden, claims assumes that only
// StatefulSets and custom resources own claims. live is the object, required for StatefulSets.
func (l *Losses) claims(ctx context.Context, item *inventory.Item, uid apitypes.UID, live *unstructured.Unstructured) (string, error) {
	kind := item.GroupVersionKind().GroupKind()
	custom, held := !isKubernetes(kind.Group), []string{"PersistentVolumeClaim"}
	if item.Namespace == "" {
		if !custom {
			return "", nil // no cluster-scoped kind of Kubernetes owns claims
		}
		held = append(held, "PersistentVolume")
	}
	found, unknown, err := l.ownedClaims(ctx, held, item.Namespace, func(claim metav1.Object) bool { return isOwnedBy(claim, uid, custom) })
	switch {
	case err != nil:
		return "", err
	case len(found) > 0:
		slices.Sort(found)
		remedy := "remove its owner references from the claims"
		if isStatefulSet(kind) {
			remedy = "first set spec.persistentVolumeClaimRetentionPolicy.whenDeleted of the object in the cluster to Retain"
		}
		names := content{objects: found[:min(len(found), namedContent)], more: len(found) > namedContent}
		return notRecreated(fmt.Sprintf("it may hold the data of %s, which would be destroyed", names), remedy), nil
	case len(unknown) > 0 && (custom || deletesClaims(live)):
		return notRecreated("it may own claims whose data would be destroyed, and reading "+strings.Join(unknown, ", ")+" is forbidden", "grant the permission"), nil
	default:
		return "", nil
	}
}

// ownedClaims returns the owned claims or volumes with data in a namespace, and the kinds that the client may not list.
func (l *Losses) ownedClaims(ctx context.Context, kinds []string, namespace string, isOwned func(metav1.Object) bool) (found, unknown []string, err error) {
	for _, name := range kinds {
		err := l.Server.Each(ctx, l.Server.Client, schema.GroupVersionKind{Version: "v1", Kind: name}, true, func(object client.Object) (bool, error) {
			if claim, ok := object.(*unstructured.Unstructured); ok && claim.GetDeletionTimestamp() == nil && heldData(claim) != "" && isOwned(claim) {
				found = append(found, types.ObjectText(claim.GroupVersionKind().GroupKind(), claim.GetNamespace(), claim.GetName()))
			}
			return true, nil
		}, client.InNamespace(namespace))
		switch {
		case execute.IsGone(err): // the server has no volumes
		case apierrors.IsForbidden(err):
			unknown = append(unknown, inNamespace(name+"s", namespace))
		case err != nil:
			return nil, nil, fmt.Errorf("listing %s: %w", inNamespace(name+"s", namespace), err)
		}
	}
	return found, unknown, nil
}

// isOwnedBy reports whether an object is owned by the root or, if that is a custom resource, by any object. Ephemeral
// volumes do not count, because their data is meant to be deleted with their Pod. Garbage collection may spare the
// object if it has further owners.
func isOwnedBy(object metav1.Object, root apitypes.UID, custom bool) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		isEphemeral := owner.Kind == "Pod" && owner.Controller != nil && *owner.Controller
		return !isEphemeral && (custom || owner.UID == root)
	})
}

func inNamespace(objects, namespace string) string {
	if namespace == "" {
		return objects
	}
	return objects + " in namespace " + namespace
}

// isKubernetes reports whether an API group is one of Kubernetes itself.
func isKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

func isStatefulSet(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
}

// deletesClaims reports whether an object is a StatefulSet whose claims are deleted with it.
func deletesClaims(live *unstructured.Unstructured) bool {
	if live == nil || !isStatefulSet(live.GroupVersionKind().GroupKind()) {
		return false
	}
	templates, _, _ := unstructured.NestedSlice(live.Object, "spec", "volumeClaimTemplates")
	policy, _, _ := unstructured.NestedString(live.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
	return len(templates) > 0 && policy == "Delete"
}
