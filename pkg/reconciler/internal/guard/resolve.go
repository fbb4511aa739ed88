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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// maxBlockers is the number of types with instances that a result names. The others are named when these have none
// left.
const maxBlockers = 10

// UnknownTypeDelay is how long to wait before checking again whether an API answers.
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
			mapping, err := l.Server.ServedNow(ctx, schema.GroupKind{Group: pattern.Group, Kind: pattern.Kind})
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
		if err := l.discover(ctx, open, found); err != nil {
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

// discover adds all listable types that match one of the patterns. An aggregated API that does not answer hides its
// objects: if one of the patterns may match them, the error is an *UnknownTypeError.
func (l *Losses) discover(ctx context.Context, demands []Demand, found map[schema.GroupKind]*meta.RESTMapping) error {
	mappings, silent, err := Listable(l.Server, func(gvk schema.GroupVersionKind, _ metav1.APIResource) bool {
		return slices.ContainsFunc(demands, func(d Demand) bool { return prepare.Matches(d.TypeVersionInfo, gvk) })
	})
	if err == nil {
		err = decideUnanswered(demands, silent, func(definition *inventory.Item) (bool, error) { return l.hasAnswered(ctx, definition) })
	}
	if err != nil {
		return err
	}
	for _, mapping := range mappings {
		found[mapping.GroupVersionKind.GroupKind()] = mapping
	}
	return nil
}

// decideUnanswered returns an *UnknownTypeError if an API that does not answer may have objects of a demanded type. An
// API that has never answered since a dependent defined it has none.
func decideUnanswered(demands []Demand, silent map[schema.GroupVersion]error, hasAnswered func(*inventory.Item) (bool, error)) error {
	versions := slices.SortedFunc(maps.Keys(silent), func(a, b schema.GroupVersion) int { return cmp.Compare(a.String(), b.String()) })
	for _, version := range versions {
		for _, d := range demands {
			if !prepare.Matches(d.TypeVersionInfo, version.WithKind(d.Kind)) {
				continue
			}
			if d.definition != nil {
				if answered, err := hasAnswered(d.definition); err != nil {
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

// firstCheck is how long Kubernetes takes at most for the first check whether a new APIService is available.
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

// Listable returns the types that fit and can be listed, as the API server announces them, and the versions whose APIs
// do not answer.
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
