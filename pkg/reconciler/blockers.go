// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

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
// Types are looked at with the identity of the client. If that may not list one, Options.DeletionReader is asked, unless
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
	r.options.Observer.Guard(p.label, resources)
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

// resolve finds the types that fit the patterns and are served.
func (p *pass) resolve(ctx context.Context, patterns []TypeVersionInfo) ([]*meta.RESTMapping, error) {
	found := map[schema.GroupKind]*meta.RESTMapping{}
	var open []TypeVersionInfo
	for _, pattern := range patterns {
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
		if err := p.discover(open, found); err != nil {
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

// discover adds all listable types that fit one of the patterns. Groups that cannot be discovered, because an aggregated API
// does not answer, are passed over: such an API shows no instances, and keeps them where it keeps them.
func (p *pass) discover(patterns []TypeVersionInfo, found map[schema.GroupKind]*meta.RESTMapping) error {
	lists, err := p.client.DiscoveryClient().ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return fmt.Errorf("discovering types: %w", err)
	}
	fits := func(gvk schema.GroupVersionKind) bool {
		return slices.ContainsFunc(patterns, func(pattern TypeVersionInfo) bool { return pattern.matches(gvk) })
	}
	for _, mapping := range listable(lists, fits) {
		found[mapping.GroupVersionKind.GroupKind()] = mapping
	}
	return nil
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
