// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package losses

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/policies"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/types"
)

// namedContent is how many objects a message names.
const namedContent = 3

// content is what was found in a namespace and would be destroyed with it.
type content struct {
	objects  []string // some of them, all of one type, sorted
	more     bool     // there are more than these
	unlisted []string // types of which it is not known; sorted
}

// String says what is there, and what is not known; empty if there is nothing.
func (c content) String() string {
	switch {
	case len(c.objects) > 0 && c.more:
		return strings.Join(c.objects, ", ") + " and more"
	case len(c.objects) > 0:
		return strings.Join(c.objects, ", ")
	case len(c.unlisted) > 0:
		return "objects of types that cannot be listed (" + strings.Join(c.unlisted, ", ") + "), if there are any"
	default:
		return ""
	}
}

// contentOf looks into a namespace for what would be destroyed with it: all objects that nothing else in there owns, and that Kubernetes does
// not put into each namespace. Dependents of the owner do not count if they are to be spared. It looks until it has found something, and first
// where it was found the last time.
func (l *Losses) contentOf(ctx context.Context, item *inventory.Item, spareDependents bool) (content, error) {
	look := contentSearch{Losses: l, namespace: item.Name}
	if spareDependents {
		look.dependents = records.Index(l.Remaining())
	}
	recalled := l.Memory.Of(types.IDOf(item))
	if last := recalled.Content; last != nil {
		if err := look.kind(ctx, last); err != nil || len(look.found.objects) > 0 {
			return look.found, err
		}
	}
	recalled.Content = nil
	mappings, err := look.kinds()
	if err != nil {
		return content{}, err
	}
	for _, mapping := range mappings {
		if err := look.kind(ctx, mapping); err != nil {
			return content{}, err
		}
		if len(look.found.objects) > 0 {
			recalled.Content = mapping
			return look.found, nil
		}
	}
	slices.Sort(look.found.unlisted)
	look.found.unlisted = slices.Compact(look.found.unlisted)
	return look.found, nil
}

// contentSearch is one look into a namespace.
type contentSearch struct {
	*Losses
	namespace string
	// dependents do not count; nil if they do.
	dependents map[types.ObjectID]*inventory.Item
	found      content
}

// kinds returns the types whose objects can be in a namespace and go with it, sorted. API groups that do not answer are noted.
func (c *contentSearch) kinds() ([]*meta.RESTMapping, error) {
	lists, err := c.Server.Client.DiscoveryClient().ServerPreferredResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return nil, fmt.Errorf("discovering types: %w", err)
	}
	if partial != nil {
		for version := range maps.Keys(partial.Groups) {
			c.found.unlisted = append(c.found.unlisted, "*."+version.Group)
		}
	}
	for _, list := range lists {
		list.APIResources = slices.DeleteFunc(slices.Clone(list.APIResources), func(resource metav1.APIResource) bool {
			return !resource.Namespaced || !slices.Contains(resource.Verbs, "delete")
		})
	}
	mappings := Listable(lists, func(gvk schema.GroupVersionKind) bool { return !isTransient(gvk.GroupKind()) })
	slices.SortFunc(mappings, func(a, b *meta.RESTMapping) int {
		return cmp.Or(cmp.Compare(a.GroupVersionKind.Group, b.GroupVersionKind.Group), cmp.Compare(a.GroupVersionKind.Kind, b.GroupVersionKind.Kind))
	})
	return mappings, nil
}

// kind looks for objects of one type.
func (c *contentSearch) kind(ctx context.Context, mapping *meta.RESTMapping) error {
	next := ""
	for !c.found.more {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(mapping.GroupVersionKind)
		err := c.Server.Read(func() error {
			return c.Server.Client.List(ctx, list, client.InNamespace(c.namespace), client.Limit(ListPage), client.Continue(next))
		})
		switch {
		case answers.IsGone(err), apierrors.IsMethodNotSupported(err):
			return nil
		case apierrors.IsForbidden(err):
			c.found.unlisted = append(c.found.unlisted, mapping.Resource.GroupResource().String())
			return nil
		case err != nil:
			return fmt.Errorf("listing %s in namespace %s: %w", mapping.GroupVersionKind.GroupKind(), c.namespace, err)
		}
		for i := range list.Items {
			c.take(mapping.GroupVersionKind.GroupKind(), &list.Items[i])
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
	return nil
}

// take notes an object unless it goes anyway, or is of no value of its own.
func (c *contentSearch) take(kind schema.GroupKind, object *metav1.PartialObjectMetadata) {
	if object.DeletionTimestamp != nil || isStandard(kind, object) || c.isDependent(kind, object) || c.isOwned(object) {
		return
	}
	if len(c.found.objects) == namedContent {
		c.found.more = true
		return
	}
	c.found.objects = append(c.found.objects, types.ObjectText(kind, object.Namespace, object.Name))
}

// isDependent reports whether an object is a dependent, and dependents do not count. The label is not enough: others copy objects with their labels.
// An object that is not recorded must have been written by us, for example by a process that did not know yet that it is not wanted any more.
func (c *contentSearch) isDependent(kind schema.GroupKind, object *metav1.PartialObjectMetadata) bool {
	if c.dependents == nil || object.Labels[c.Server.Keys.OwnerLabel] != c.Server.Label {
		return false
	}
	recorded := c.dependents[types.ObjectID{GroupKind: kind, Namespace: object.Namespace, Name: object.Name}]
	return recorded != nil || !fieldset.IsCopy(object, c.Server.FieldOwner)
}

// isOwned reports whether an object has owners, and all of them are namespaced: if they exist, they are in the same namespace and looked at
// themselves, and otherwise the garbage collector removes the object. What nobody looks at, such as a Lease, does not stand for what it owns.
func (c *contentSearch) isOwned(object metav1.Object) bool {
	for _, owner := range object.GetOwnerReferences() {
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
		mapping, err := c.Server.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil || isTransient(kind.GroupKind()) || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
			return false
		}
	}
	return len(object.GetOwnerReferences()) > 0
}

// isTransient reports whether objects of a kind hold nothing but what others derive from further objects, or renew all the time.
func isTransient(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "Event"}, schema.GroupKind{Group: "events.k8s.io", Kind: "Event"},
		schema.GroupKind{Kind: "Endpoints"}, schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
		schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}:
		return true
	default:
		return false
	}
}

// standard are the names of the objects that Kubernetes, OpenShift and Istio put into each namespace.
var standard = map[schema.GroupKind][]string{
	{Kind: "ServiceAccount"}:                      {"default", "builder", "deployer"},
	{Kind: "ConfigMap"}:                           {"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"},
	{Group: kinds.GroupRBAC, Kind: "RoleBinding"}: {"system:image-pullers", "system:image-builders", "system:deployers"},
}

// isStandard reports whether an object is one that each namespace has, or the token of a ServiceAccount, which goes with that.
func isStandard(kind schema.GroupKind, object metav1.Object) bool {
	isToken := kind == schema.GroupKind{Kind: "Secret"} && object.GetAnnotations()["kubernetes.io/service-account.uid"] != ""
	return isToken || slices.Contains(standard[kind], object.GetName())
}

// HoldNamespace returns what a namespace is awaited for before it may be deleted; empty if for nothing.
func (l *Losses) HoldNamespace(ctx context.Context, item *inventory.Item) (string, error) {
	found, err := l.contentOf(ctx, item, true)
	if err != nil {
		return "", err
	}
	return heldText(l.Server.Keys.Prefix, found), nil
}

// heldText says what a namespace is awaited for, and what can be done about it.
func heldText(prefix string, found content) string {
	if found.String() == "" {
		return ""
	}
	return fmt.Sprintf("kept as long as there are objects in it that are not dependents: %s; to have it released instead of being deleted, set its annotation %s to orphan",
		found, prefix+types.AnnotationKeySuffixDeletePolicy)
}

// IsReleased reports whether somebody has annotated the namespace itself such that it is not to be deleted.
func (l *Losses) IsReleased(ctx context.Context, item *inventory.Item) (bool, error) {
	live, err := l.Server.Get(ctx, item)
	if err != nil {
		if answers.IsGone(err) {
			return false, nil
		}
		return false, err
	}
	policy, err := policies.ParseDelete(live.GetAnnotations()[l.Server.Keys.Prefix+types.AnnotationKeySuffixDeletePolicy])
	return err == nil && policy == inventory.DeletePolicyOrphan, nil
}
