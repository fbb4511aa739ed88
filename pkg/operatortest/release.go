// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/finalizers"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/types"
)

// announcements are the finalizers of the reconcilers under test. The zero value is ready for use.
type announcements struct {
	mu  sync.Mutex
	all []finalizers.Announcement
}

// announcing is a manager whose reconcilers announce their finalizers.
type announcing struct {
	ctrl.Manager

	announced *announcements
}

// Announce implements finalizers.Announcer.
func (a announcing) Announce(announcement finalizers.Announcement) {
	a.announced.mu.Lock()
	defer a.announced.mu.Unlock()
	a.announced.all = append(a.announced.all, announcement)
}

func (a *announcements) list() []finalizers.Announcement {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.all)
}

// releaser takes the finalizers of an operator that has ended off what the test has left.
type releaser struct {
	client    client.Client
	namespace string
	announced []finalizers.Announcement
	// applied are the cluster-scoped objects that the test applied, by kind and name.
	applied map[schema.GroupKind]map[string]apitypes.UID
	log     func(format string, arguments ...any)
}

// release takes the operator's finalizers off what is left of its components and their dependents. The operator has ended and would never do that, so that the
// namespace would stay. If no component is left, it makes a request for each kind of them, and nothing else.
func release(tb testing.TB, c *Cluster) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 2*clearDeadline)
	defer cancel()
	r := releaser{client: c.client, namespace: c.namespace, announced: c.announced.list(), applied: appliedToCluster(c), log: tb.Logf}
	left, err := r.components(ctx)
	switch {
	case err != nil:
		tb.Logf("looking for what the operator has left: %v", err)
		return
	case len(left) == 0 && !tb.Failed():
		return
	}
	for _, component := range left {
		r.free(ctx, component)
	}
	clnt, err := discovery.NewDiscoveryClientForConfig(testenv.Config(tb))
	if err != nil {
		tb.Logf("creating a discovery client: %v", err)
		return
	}
	// Groups whose server does not answer are left out.
	lists, _ := clnt.ServerPreferredResources()
	for _, list := range lists {
		r.freeAll(ctx, list)
	}
}

// appliedToCluster returns the cluster-scoped objects that the test applied.
func appliedToCluster(c *Cluster) map[schema.GroupKind]map[string]apitypes.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	applied := map[schema.GroupKind]map[string]apitypes.UID{}
	for key, history := range c.histories {
		latest, _, _ := history.now()
		if key.Namespace != "" || latest == nil {
			continue
		}
		if applied[key.GroupKind()] == nil {
			applied[key.GroupKind()] = map[string]apitypes.UID{}
		}
		applied[key.GroupKind()][key.Name] = latest.GetUID()
	}
	return applied
}

// components returns the components of the test that still exist: those in its namespace, and the cluster-scoped ones that it applied.
func (r releaser) components(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	var left []metav1.PartialObjectMetadata
	for _, announced := range r.announced {
		mapping, err := r.client.RESTMapper().RESTMapping(announced.Kind.GroupKind(), announced.Kind.Version)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("finding the resource of %s: %w", announced.Kind.Kind, err)
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			found, err := r.list(ctx, announced.Kind, client.InNamespace(r.namespace))
			if err != nil {
				return nil, err
			}
			left = append(left, found...)
			continue
		}
		for name, uid := range r.applied[announced.Kind.GroupKind()] {
			found := metav1.PartialObjectMetadata{}
			found.SetGroupVersionKind(announced.Kind)
			switch err := r.client.Get(ctx, client.ObjectKey{Name: name}, &found); {
			case client.IgnoreNotFound(err) != nil:
				return nil, fmt.Errorf("getting %s %s: %w", announced.Kind.Kind, name, err)
			case err == nil && found.UID == uid:
				left = append(left, found)
			}
		}
	}
	return left, nil
}

// list returns the metadata of objects; none if their type is not served.
func (r releaser) list(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := r.client.List(ctx, list, options...)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind) // lists do not repeat it
	}
	return list.Items, nil
}

// freeAll frees the objects of some types that are in the namespace of the test, and the dependents elsewhere.
func (r releaser) freeAll(ctx context.Context, served *metav1.APIResourceList) {
	group, err := schema.ParseGroupVersion(served.GroupVersion)
	if err != nil {
		r.log("finding what the operator has left: %v", err)
		return
	}
	for _, resource := range served.APIResources {
		if !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "patch") {
			continue
		}
		kind := group.WithKind(resource.Kind)
		if resource.Namespaced {
			r.freeListed(ctx, kind, func(metav1.PartialObjectMetadata) bool { return true }, client.InNamespace(r.namespace))
		}
		for _, announced := range r.announced {
			isOurs := func(object metav1.PartialObjectMetadata) bool { return r.owns(announced, object) }
			r.freeListed(ctx, kind, isOurs, client.HasLabels{announced.Reconciler + "/" + types.LabelKeySuffixOwnerId})
		}
	}
}

// freeListed frees those of the objects that are of this test.
func (r releaser) freeListed(ctx context.Context, kind schema.GroupVersionKind, isOurs func(metav1.PartialObjectMetadata) bool, options ...client.ListOption) {
	found, err := r.list(ctx, kind, options...)
	if err != nil {
		r.log("finding what the operator has left: %v", err)
	}
	for _, object := range found {
		if isOurs(object) {
			r.free(ctx, object)
		}
	}
}

// owns reports whether an object is a dependent of a component of this test. Owner IDs end with the namespace and name of the component.
func (r releaser) owns(announced finalizers.Announcement, object metav1.PartialObjectMetadata) bool {
	id := strings.Split(object.Annotations[announced.Reconciler+"/"+types.AnnotationKeySuffixOwnerId], "/")
	if len(id) < 3 {
		return false
	}
	namespace, name := id[len(id)-2], id[len(id)-1]
	if namespace != "" {
		return namespace == r.namespace
	}
	_, applied := r.applied[announced.Kind.GroupKind()][name]
	return applied
}

// without returns finalizers without those of the operator.
func (r releaser) without(present []string) []string {
	for _, announced := range r.announced {
		present = announced.Finalizers.Without(present)
	}
	return present
}

// free takes the operator's finalizers off an object. Those of others stay.
func (r releaser) free(ctx context.Context, object metav1.PartialObjectMetadata) {
	uid := object.UID
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		rest := r.without(object.Finalizers)
		if object.UID != uid || len(rest) == len(object.Finalizers) {
			return nil
		}
		before := object.DeepCopy()
		object.Finalizers = rest
		err := r.client.Patch(ctx, &object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(user))
		if apierrors.IsConflict(err) {
			object = *before
			if err := r.client.Get(ctx, client.ObjectKeyFromObject(before), &object); err != nil {
				return err
			}
		}
		return err
	})
	if client.IgnoreNotFound(err) != nil {
		r.log("taking the finalizers of the operator off %s %s: %v", object.Kind, object.Name, err)
	}
}
