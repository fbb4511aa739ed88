// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// namedContent is the number of objects that a message names.
const namedContent = 3

// content has the objects that the deletion of a namespace would destroy.
type content struct {
	objects  []string // some objects of one type, sorted
	more     bool     // there are more objects
	unlisted []string // types that could not be listed; sorted
}

// String names the objects, or the types that could not be listed; empty if there are neither.
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

// contentOf searches a namespace for objects that its deletion would destroy: all objects that no other object in it
// owns, and that Kubernetes does not create in each namespace. With spareDependents, dependents of the owner do not
// count. The search ends with the first type that has such objects, and begins with the type that had some the last
// time.
func (l *Losses) contentOf(ctx context.Context, item *inventory.Item, spareDependents bool) (content, error) {
	look := contentSearch{losses: l, namespace: item.Name}
	if spareDependents {
		look.dependents = decide.Index(l.Remaining())
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

// contentSearch is one search of a namespace.
type contentSearch struct {
	losses    *Losses
	namespace string
	// dependents are the objects that do not count; nil if all count.
	dependents map[types.ObjectID]*inventory.Item
	found      content
}

// kinds returns the namespaced types whose objects can be deleted, sorted. It notes API groups that do not answer.
func (c *contentSearch) kinds() ([]*meta.RESTMapping, error) {
	mappings, silent, err := Listable(c.losses.Server, func(gvk schema.GroupVersionKind, resource metav1.APIResource) bool {
		return resource.Namespaced && slices.Contains(resource.Verbs, "delete") && !isTransient(gvk.GroupKind())
	})
	if err != nil {
		return nil, err
	}
	for version := range silent {
		c.found.unlisted = append(c.found.unlisted, "*."+version.Group)
	}
	slices.SortFunc(mappings, func(a, b *meta.RESTMapping) int {
		return cmp.Or(cmp.Compare(a.GroupVersionKind.Group, b.GroupVersionKind.Group), cmp.Compare(a.GroupVersionKind.Kind, b.GroupVersionKind.Kind))
	})
	return mappings, nil
}

// kind searches the objects of one type.
func (c *contentSearch) kind(ctx context.Context, mapping *meta.RESTMapping) error {
	kind := mapping.GroupVersionKind
	err := c.losses.Server.Each(ctx, c.losses.Server.Client, kind, false, func(object client.Object) (bool, error) {
		c.take(kind.GroupKind(), object)
		return !c.found.more, nil
	}, client.InNamespace(c.namespace))
	switch {
	case execute.IsGone(err), apierrors.IsMethodNotSupported(err):
		return nil
	case apierrors.IsForbidden(err):
		c.found.unlisted = append(c.found.unlisted, mapping.Resource.GroupResource().String())
		return nil
	case err != nil:
		return fmt.Errorf("listing %s in namespace %s: %w", kind.GroupKind(), c.namespace, err)
	}
	return nil
}

// take adds an object, unless it is being deleted or need not be kept.
func (c *contentSearch) take(kind schema.GroupKind, object metav1.Object) {
	if object.GetDeletionTimestamp() != nil || isStandard(kind, object) || c.isDependent(kind, object) || c.isOwned(object) {
		return
	}
	if len(c.found.objects) == namedContent {
		c.found.more = true
		return
	}
	c.found.objects = append(c.found.objects, types.ObjectText(kind, object.GetNamespace(), object.GetName()))
}

// isDependent reports whether an object is a dependent that does not count. The label does not prove it, since others
// copy objects with their labels: the object must be recorded, or written by us (by a process that did not know yet
// that it is redundant, for example).
func (c *contentSearch) isDependent(kind schema.GroupKind, object metav1.Object) bool {
	if c.dependents == nil || object.GetLabels()[c.losses.Server.Keys.OwnerLabel] != c.losses.Server.Label {
		return false
	}
	recorded := c.dependents[types.ObjectID{GroupKind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}]
	return recorded != nil || !fieldset.IsCopy(object, c.losses.Server.FieldOwner)
}

// isOwned reports whether an object has owners that are all namespaced. If they exist, they are in the same namespace
// and count themselves; otherwise garbage collection deletes the object anyway. Owners of transient kinds, such as
// Leases, do not count.
func (c *contentSearch) isOwned(object metav1.Object) bool {
	for _, owner := range object.GetOwnerReferences() {
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
		mapping, err := c.losses.Server.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil || isTransient(kind.GroupKind()) || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
			return false
		}
	}
	return len(object.GetOwnerReferences()) > 0
}

// isTransient reports whether objects of a kind do not count, because controllers derive them from other objects or
// renew them all the time.
func isTransient(kind schema.GroupKind) bool {
	return slices.Contains([]string{"Event", "Event.events.k8s.io", "Endpoints", "EndpointSlice.discovery.k8s.io", "Lease.coordination.k8s.io"}, kind.String())
}

// standard are the names of the objects that Kubernetes, OpenShift and Istio create in each namespace.
var standard = map[schema.GroupKind][]string{
	{Kind: "ServiceAccount"}:                        {"default", "builder", "deployer"},
	{Kind: "ConfigMap"}:                             {"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"},
	{Group: prepare.GroupRBAC, Kind: "RoleBinding"}: {"system:image-pullers", "system:image-builders", "system:deployers"},
}

// isStandard reports whether an object is one that each namespace has, or the token of a ServiceAccount, which is
// deleted with it.
func isStandard(kind schema.GroupKind, object metav1.Object) bool {
	isToken := kind == schema.GroupKind{Kind: "Secret"} && object.GetAnnotations()["kubernetes.io/service-account.uid"] != ""
	return isToken || slices.Contains(standard[kind], object.GetName())
}

// HoldNamespace returns the reason why a namespace must not be deleted yet, and a remedy for the user; empty if it may
// be deleted.
func (l *Losses) HoldNamespace(ctx context.Context, item *inventory.Item) (string, error) {
	found, err := l.contentOf(ctx, item, true)
	if err != nil || found.String() == "" {
		return "", err
	}
	return fmt.Sprintf("kept while there are objects in it that are not dependents: %s; to orphan it instead of deleting it, set its annotation %s to orphan",
		found, l.Server.Keys.Prefix+types.AnnotationKeySuffixDeletePolicy), nil
}

// IsMarkedOrphan reports whether the namespace in the cluster has an annotation that orphans it.
func (l *Losses) IsMarkedOrphan(ctx context.Context, item *inventory.Item) (bool, error) {
	live, err := l.Server.Get(ctx, item)
	if err != nil {
		if execute.IsGone(err) {
			return false, nil
		}
		return false, err
	}
	policy, err := prepare.ParseDelete(live.GetAnnotations()[l.Server.Keys.Prefix+types.AnnotationKeySuffixDeletePolicy])
	return err == nil && policy == inventory.DeletePolicyOrphan, nil
}

// maxBlockers is the maximum number of types with instances in a result. Other types are reported when these have none
// left.
const maxBlockers = 10

// UnknownTypeDelay is the delay before checking again whether an API responds.
const UnknownTypeDelay = 10 * time.Second

// resolve returns the demanded types that are served. The error is an *UnknownTypeError if it is not known whether a
// type is served.
func (l *Losses) resolve(ctx context.Context, demands []Demand) ([]*meta.RESTMapping, error) {
	found := map[schema.GroupKind]*meta.RESTMapping{}
	var open []Demand
	for _, pattern := range demands {
		if strings.Contains(pattern.Group, prepare.Wildcard) || pattern.Kind == prepare.Wildcard {
			open = append(open, pattern)
			continue
		}
		var versions []string
		if pattern.Version != prepare.Wildcard {
			versions = []string{pattern.Version}
		}
		mapping, err := l.Server.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: pattern.Group, Kind: pattern.Kind}, versions...)
		switch {
		case cluster.IsNoMatch(err):
			if mapping, err = l.Server.ServedNow(ctx, schema.GroupKind{Group: pattern.Group, Kind: pattern.Kind}); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, fmt.Errorf("finding type %s.%s: %w", pattern.Kind, pattern.Group, err)
		}
		if mapping != nil {
			found[mapping.GroupVersionKind.GroupKind()] = mapping
		}
	}
	if len(open) > 0 {
		if err := l.discover(ctx, open, found); err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *meta.RESTMapping) int {
		return cmp.Compare(a.GroupVersionKind.String(), b.GroupVersionKind.String())
	}), nil
}

// discover adds all listable types that match one of the patterns. An aggregated API that does not answer hides its
// objects: if one of the patterns may match them, the error is an *UnknownTypeError.
func (l *Losses) discover(ctx context.Context, demands []Demand, found map[schema.GroupKind]*meta.RESTMapping) error {
	mappings, silent, err := Listable(l.Server, func(gvk schema.GroupVersionKind, _ metav1.APIResource) bool {
		return slices.ContainsFunc(demands, func(d Demand) bool { return prepare.Matches(d.TypeVersionInfo, gvk) })
	})
	if err == nil {
		err = l.unanswered(ctx, demands, silent)
	}
	if err != nil {
		return err
	}
	for _, mapping := range mappings {
		found[mapping.GroupVersionKind.GroupKind()] = mapping
	}
	return nil
}

// unanswered returns an *UnknownTypeError if an API that does not answer may have objects of a demanded type. An API
// that has never responded since a dependent defined it has none.
func (l *Losses) unanswered(ctx context.Context, demands []Demand, silent map[schema.GroupVersion]error) error {
	versions := slices.SortedFunc(maps.Keys(silent), func(a, b schema.GroupVersion) int { return cmp.Compare(a.String(), b.String()) })
	for _, version := range versions {
		for _, d := range demands {
			if !prepare.Matches(d.TypeVersionInfo, version.WithKind(d.Kind)) {
				continue
			}
			if d.definition != nil {
				if answered, err := l.hasAnswered(ctx, d.definition); err != nil {
					return err
				} else if !answered {
					continue
				}
			}
			return &execute.UnknownTypeError{
				Kind: schema.GroupKind{Group: version.Group, Kind: d.Kind},
				Err:  fmt.Errorf("%w; if this API will not be served again, delete APIService %s.%s", silent[version], version.Version, version.Group),
			}
		}
	}
	return nil
}

// firstCheck is the maximum time until Kubernetes first checks whether a new APIService is available.
const firstCheck = 10 * time.Second

// hasAnswered reports whether the API of an APIService has answered since the APIService was created: the dependent was
// ready, or the APIService is available now, or has become unavailable only after the first check.
func (l *Losses) hasAnswered(ctx context.Context, item *inventory.Item) (bool, error) {
	if item.Phase == inventory.PhaseReady {
		return true, nil
	}
	s, err := l.Server.AskAnyway(ctx, item)
	if err != nil || !s.Exists {
		return false, err
	}
	service := &apiregistrationv1.APIService{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.Live.Object, service); err != nil {
		return false, fmt.Errorf("reading %s: %w", types.IDOf(item), err)
	}
	for _, condition := range service.Status.Conditions {
		if condition.Type == apiregistrationv1.Available {
			return condition.Status == apiregistrationv1.ConditionTrue || condition.LastTransitionTime.Sub(service.CreationTimestamp.Time) > firstCheck, nil
		}
	}
	return false, nil
}

// Listable returns the listable types that fit, according to discovery, and the versions whose APIs do not respond.
func Listable(server *execute.Server, fits func(schema.GroupVersionKind, metav1.APIResource) bool) (mappings []*meta.RESTMapping, silent map[schema.GroupVersion]error, err error) {
	lists, err := server.Client.DiscoveryClient().ServerPreferredResources()
	var failed *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &failed):
		silent = failed.Groups
	case err != nil:
		return nil, nil, fmt.Errorf("discovering types: %w", err)
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			gvk := version.WithKind(resource.Kind)
			if fits(gvk, resource) && !strings.Contains(resource.Name, "/") && slices.Contains(resource.Verbs, "list") {
				mappings = append(mappings, &meta.RESTMapping{GroupVersionKind: gvk, Resource: version.WithResource(resource.Name)})
			}
		}
	}
	return mappings, silent, nil
}

// Texts lists blockers for a message.
func Texts(blockers []inventory.Blocker) string {
	texts := make([]string, len(blockers))
	for i, blocker := range blockers {
		texts[i] = blocker.String()
	}
	return strings.Join(texts, ", ")
}
