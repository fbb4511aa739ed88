// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/pkg/cluster"
)

// maxDepth limits how many owners of an object are followed: CronJob, Job, Pod, claim, and one custom resource above.
const maxDepth = 5

// members maps objects to the dependents that they belong to, including objects that are created later. It is safe for
// concurrent use.
type members struct {
	survey *survey
	// byKey holds the dependents. It identifies a dependent that was recreated.
	byKey map[display.Key]display.Object

	mu sync.Mutex
	// byUID holds the dependent that an object belongs to, or the empty Object if it belongs to none.
	byUID map[apitypes.UID]display.Object
}

// members returns the members that are known from the survey.
func (s *survey) members() *members {
	m := &members{survey: s, byKey: map[display.Key]display.Object{}, byUID: map[apitypes.UID]display.Object{}}
	for _, root := range s.grow() {
		m.byKey[root.Object.Key()] = root.Object
		root.Walk(func(node *display.Node) {
			if node.Object.UID != "" {
				m.byUID[node.Object.UID] = root.Object
			}
		})
	}
	return m
}

// known returns the dependent that the object belongs to, if that is known without a request.
func (m *members) known(object display.Object) (display.Object, bool) {
	if dependent, ok := m.byKey[object.Key()]; ok {
		return dependent, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dependent, ok := m.byUID[object.UID]
	return dependent, ok && dependent != display.Object{}
}

// find returns the dependent that the object belongs to. The owners are those of the object; if they are nil, it reads
// them from the cluster, once per object.
func (m *members) find(ctx context.Context, object display.Object, owners []metav1.OwnerReference) (display.Object, bool, error) {
	dependent, err := m.climb(ctx, object, owners, maxDepth)
	return dependent, dependent != display.Object{}, err
}

func (m *members) climb(ctx context.Context, object display.Object, owners []metav1.OwnerReference, depth int) (display.Object, error) {
	if dependent, ok := m.known(object); ok {
		return dependent, nil
	}
	m.mu.Lock()
	_, isForeign := m.byUID[object.UID]
	m.mu.Unlock()
	if isForeign || object.UID == "" || depth == 0 {
		return display.Object{}, nil
	}
	if owners == nil {
		var err error
		if owners, err = m.ownersOf(ctx, object); err != nil {
			return display.Object{}, err
		}
	}
	found := display.Object{}
	for _, owner := range owners {
		above := display.Object{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
		if !m.isClusterScoped(above) {
			above.Namespace = object.Namespace
		}
		dependent, err := m.climb(ctx, above, nil, depth-1)
		if err != nil {
			return display.Object{}, err
		}
		found = cmp.Or(found, dependent)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byUID[object.UID] = found
	return found, nil
}

// isClusterScoped reports whether the type is cluster-scoped. Unknown types count as namespaced.
func (m *members) isClusterScoped(object display.Object) bool {
	gvk := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	mapping, err := m.survey.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	return err == nil && mapping.Scope.Name() == "root"
}

// ownersOf reads the owners of an object. An object that no longer exists has no owners.
func (m *members) ownersOf(ctx context.Context, object display.Object) ([]metav1.OwnerReference, error) {
	gvk := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(gvk)
	err := m.survey.Client.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Name}, metadata)
	switch {
	case apierrors.IsForbidden(err):
		mapping, err := m.survey.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return nil, fmt.Errorf("finding type %s: %w", gvk.GroupKind(), err)
		}
		m.survey.note(display.Note{Verb: "get", Group: gvk.Group, Resource: mapping.Resource.Resource, Namespace: object.Namespace})
		return []metav1.OwnerReference{}, nil
	case apierrors.IsNotFound(err), cluster.IsNoMatch(err), err == nil && metadata.UID != object.UID:
		return []metav1.OwnerReference{}, nil
	case err != nil:
		return nil, fmt.Errorf("reading the owners of %s: %w", object, err)
	}
	return slices.Clip(append([]metav1.OwnerReference{}, metadata.OwnerReferences...)), nil
}

// namespaces returns the namespaces of the dependents.
func (m *members) namespaces() []string {
	found := map[string]bool{}
	for at := range m.byKey {
		if at.Namespace != "" {
			found[at.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
