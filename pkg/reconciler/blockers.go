// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// maxBlockers is how many types with instances are named. Whoever waits for more of them waits for these first.
const maxBlockers = 10

// CheckDeletion returns what forbids to delete the dependents of the owner: for each managed type of which there are
// instances that do not belong to the owner, one of them; of ten types at most. As long as there are any, the observer notifies the
// owner when the last instance of one of these types goes, and now and then before.
//
// Instances of additional managed types always count. Instances of types that a dependent defines do not if all
// dependents are going to be released.
//
// Types are looked at with the identity of the client. If that may not list one, the reconciler whose As has returned this one looks, unless
// nobody but the owner has named the type; then the error is that of the API server, or nil if none of the dependents is left.
func (r *Reconciler) CheckDeletion(ctx context.Context, request DeleteRequest) ([]Blocker, error) {
	p := r.newPass(request.Owner, request.Inventory)
	demands, err := p.demands(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for what defines managed types: %w", err)
	}
	blockers, resources, err := p.instances(ctx, demands, digest.OwnerLabel(request.ID))
	if apierrors.IsForbidden(err) && p.isNothingLeft(ctx) {
		// Rights may go with the dependents, as with a namespace. Nothing is going to be deleted any more.
		err = nil
	}
	if isUnknownType(err) {
		return nil, types.NewRetriableError(fmt.Errorf("looking for instances of managed types: %w", err), new(unknownTypeDelay))
	}
	if err != nil {
		return nil, fmt.Errorf("looking for instances of managed types: %w", err)
	}
	r.cache.Guard(p.label, resources)
	return blockers, nil
}

// unknownTypeDelay is the time after which it is asked again whether an API answers.
const unknownTypeDelay = 10 * time.Second

// servedNow returns how a type is served in its preferred version; nil if there are no objects of it.
func (p *pass) servedNow(ctx context.Context, kind schema.GroupKind) (*meta.RESTMapping, error) {
	mappings, err := p.served(ctx, kind)
	if err != nil || len(mappings) == 0 {
		return nil, err
	}
	return mappings[0], nil
}

// resolve finds the types that are demanded and served. If it is not known which ones are, the error is an *unknownTypeError.
func (p *pass) resolve(ctx context.Context, demands []demand) ([]*meta.RESTMapping, error) {
	found := map[schema.GroupKind]*meta.RESTMapping{}
	var open []demand
	for _, pattern := range demands {
		if strings.Contains(pattern.Group, wildcard) || pattern.Kind == wildcard {
			open = append(open, pattern)
			continue
		}
		var versions []string
		if pattern.Version != wildcard {
			versions = []string{pattern.Version}
		}
		mapping, err := p.client.RESTMapper().RESTMapping(schema.GroupKind{Group: pattern.Group, Kind: pattern.Kind}, versions...)
		switch {
		case cluster.IsNoMatch(err):
			mapping, err := p.servedNow(ctx, schema.GroupKind{Group: pattern.Group, Kind: pattern.Kind})
			if err != nil {
				return nil, err
			}
			if mapping != nil {
				found[mapping.GroupVersionKind.GroupKind()] = mapping
			}
		case err != nil:
			return nil, fmt.Errorf("finding type %s.%s: %w", pattern.Kind, pattern.Group, err)
		default:
			found[mapping.GroupVersionKind.GroupKind()] = mapping
		}
	}
	if len(open) > 0 {
		if err := p.discover(ctx, open, found); err != nil {
			return nil, err
		}
	}
	mappings := make([]*meta.RESTMapping, 0, len(found))
	for _, mapping := range found {
		mappings = append(mappings, mapping)
	}
	slices.SortFunc(mappings, func(a, b *meta.RESTMapping) int {
		return cmp.Compare(a.GroupVersionKind.String(), b.GroupVersionKind.String())
	})
	return mappings, nil
}

// discover adds all listable types that fit one of the patterns. A group that cannot be discovered, because an aggregated API does not answer, keeps
// its objects where nobody sees them: it is an *unknownTypeError if one of the patterns may mean it.
func (p *pass) discover(ctx context.Context, demands []demand, found map[schema.GroupKind]*meta.RESTMapping) error {
	lists, err := p.client.DiscoveryClient().ServerPreferredResources()
	var failed *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &failed) {
		return fmt.Errorf("discovering types: %w", err)
	}
	if failed != nil {
		hasAnswered := func(definition *InventoryItem) (bool, error) { return p.hasAnswered(ctx, definition) }
		if err := decideSilence(demands, failed.Groups, hasAnswered); err != nil {
			return err
		}
	}
	fits := func(gvk schema.GroupVersionKind) bool {
		return slices.ContainsFunc(demands, func(d demand) bool { return d.matches(gvk) })
	}
	for _, mapping := range listable(lists, fits) {
		found[mapping.GroupVersionKind.GroupKind()] = mapping
	}
	return nil
}

// decideSilence returns an *unknownTypeError if one of the APIs that do not answer may have objects of types that are demanded. One that has never answered
// since a dependent brought it has none.
func decideSilence(demands []demand, silent map[schema.GroupVersion]error, hasAnswered func(*InventoryItem) (bool, error)) error {
	versions := slices.SortedFunc(maps.Keys(silent), func(a, b schema.GroupVersion) int { return cmp.Compare(a.String(), b.String()) })
	for _, version := range versions {
		for _, d := range demands {
			if !d.matches(version.WithKind(d.Kind)) {
				continue
			}
			if d.definition != nil {
				if answered, err := hasAnswered(d.definition); err != nil {
					return err
				} else if !answered {
					continue
				}
			}
			return &unknownTypeError{
				kind: schema.GroupKind{Group: version.Group, Kind: d.Kind},
				err:  fmt.Errorf("%w; if this API is not going to answer any more, delete APIService %s.%s", silent[version], version.Version, version.Group),
			}
		}
	}
	return nil
}

// firstJudgement is the time within which an APIService is judged to be available or not for the first time.
const firstJudgement = 10 * time.Second

// hasAnswered reports whether the API of an APIService has answered since that was created: the dependent was ready, or it answers, or was not judged to
// be unavailable at once.
func (p *pass) hasAnswered(ctx context.Context, item *InventoryItem) (bool, error) {
	if item.Phase == PhaseReady {
		return true, nil
	}
	var live *unstructured.Unstructured
	err := p.readAnyway(func(clnt cluster.Client) (err error) {
		live, err = lookUp(ctx, clnt, item)
		return err
	})
	if isGone(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", keyOf(item), err)
	}
	service := &apiregistrationv1.APIService{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, service); err != nil {
		return false, fmt.Errorf("reading %s: %w", keyOf(item), err)
	}
	for _, condition := range service.Status.Conditions {
		if condition.Type == apiregistrationv1.Available {
			return condition.Status == apiregistrationv1.ConditionTrue || condition.LastTransitionTime.Sub(service.CreationTimestamp.Time) > firstJudgement, nil
		}
	}
	return false, nil
}

// listable returns the types among what was discovered that fit and can be listed.
func listable(lists []*metav1.APIResourceList, fits func(gvk schema.GroupVersionKind) bool) []*meta.RESTMapping {
	var mappings []*meta.RESTMapping
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			gvk := version.WithKind(resource.Kind)
			if fits(gvk) && !strings.Contains(resource.Name, "/") && slices.Contains(resource.Verbs, "list") {
				mappings = append(mappings, &meta.RESTMapping{GroupVersionKind: gvk, Resource: version.WithResource(resource.Name)})
			}
		}
	}
	return mappings
}

// String names the type and the instance.
func (b Blocker) String() string {
	if b.Name == "" {
		return b.Type.GroupKind().String() + " (no permission to list them)"
	}
	return objectKey{GroupKind: b.Type.GroupKind(), namespace: b.Namespace, name: b.Name}.String()
}

func blockerTexts(blockers []Blocker) string {
	texts := make([]string, len(blockers))
	for i, blocker := range blockers {
		texts[i] = blocker.String()
	}
	return strings.Join(texts, ", ")
}
