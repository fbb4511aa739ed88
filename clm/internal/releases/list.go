// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/types"
)

// pageSize is the size of a page of indexes, which may be large.
const pageSize = 50

// List reads the releases of a namespace, or of all namespaces if it is empty, whose labels match a selector, sorted by
// namespace and name. A nil selector matches all. They have no inventories and only the current revision, so they cannot be saved. A record that cannot be used does not prevent
// the others from being listed; see Release.Problem.
func (s *Store) List(ctx context.Context, namespace string, selector labels.Selector) ([]*Release, error) {
	var found []*Release
	isSelected := func(release *Release) bool {
		var set labels.Set
		if current := release.Current(); current != nil {
			set = current.Labels
		}
		return selector == nil || selector.Matches(set)
	}
	err := clients.EachListed(ctx, s.client, &corev1.SecretList{}, pageSize, func(secret *corev1.Secret) {
		if secret.Type == SecretType {
			found = append(found, listed(secret))
		}
	}, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selectRecords(selector)})
	if err == nil && (selector == nil || selector.Matches(labels.Set{})) { // the ancestor knows no labels
		found, err = s.appendAncestors(ctx, found, namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("listing releases: %w", err)
	}
	found = slices.DeleteFunc(found, func(release *Release) bool { return !isSelected(release) })
	slices.SortFunc(found, func(a, b *Release) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

// NeededBy returns the names of the releases in the same namespace that depend on a release.
func (s *Store) NeededBy(ctx context.Context, release *Release) ([]string, error) {
	var needed, unknown []string
	err := clients.EachListed(ctx, s.client, &corev1.SecretList{}, pageSize, func(secret *corev1.Secret) {
		if secret.Type != SecretType {
			return
		}
		other := listed(secret)
		current := other.Current()
		switch {
		case current != nil && slices.Contains(current.DependsOn, release.Name):
			needed = append(needed, other.Name)
		case other.Problem != "":
			unknown = append(unknown, other.Name)
		}
	}, client.InNamespace(release.Namespace), ours)
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("the records of these releases cannot be read: %s", strings.Join(unknown, ", "))
	}
	slices.Sort(needed)
	return needed, err
}

// listed returns the release in an index without the parts that lists do not show: all indexes of a cluster together
// may be too large.
func listed(secret *corev1.Secret) *Release {
	release, err := decodeSecret(secret)
	if release == nil {
		release = &Release{Namespace: secret.Namespace, Name: strings.TrimPrefix(secret.Name, prefix)}
	}
	dependents := release.Items()
	release.stored.incomplete, release.stored.raw = true, nil
	release.stored.index = index{State: release.stored.index.State, Inventory: &chunks.List{Items: dependents}}
	if current := release.Current(); current != nil {
		release.Revisions = []Revision{*current}
	}
	release.Message = texts.Truncate(release.Message, maxMessage)
	var damaged *DamagedError
	switch {
	case errors.As(err, &damaged):
		// Damage, unlike the error, does not name the release again.
		release.Problem = damaged.Damage
	case err != nil:
		release.Problem = err.Error()
	}
	return release
}

// Names returns namespaces and names of all releases of a namespace, or of all namespaces if it is empty, sorted. It
// reads only the metadata of the records.
func (s *Store) Names(ctx context.Context, namespace string) ([]apitypes.NamespacedName, error) {
	names := map[apitypes.NamespacedName]bool{}
	named := func(prefix string) func(object *metav1.PartialObjectMetadata) {
		return func(object *metav1.PartialObjectMetadata) {
			if name, ok := strings.CutPrefix(object.Name, prefix); ok {
				names[apitypes.NamespacedName{Namespace: object.Namespace, Name: name}] = true
			}
		}
	}
	err := errors.Join(
		clients.EachListed(ctx, s.client, clients.MetadataOf(secrets), pageSize, named(prefix), client.InNamespace(namespace), ours),
		clients.EachListed(ctx, s.client, clients.MetadataOf(configMaps), pageSize, named(ancestorPrefix), client.InNamespace(namespace), ancestors),
	)
	if err != nil {
		return nil, fmt.Errorf("listing names of releases: %w", err)
	}
	return sortedNames(names), nil
}

// Remains returns the releases of a namespace, or of all namespaces if it is empty, that have chunks, with or without a
// record.
func (s *Store) Remains(ctx context.Context, namespace string) ([]apitypes.NamespacedName, error) {
	found := map[apitypes.NamespacedName]bool{}
	err := clients.EachListed(ctx, s.client, clients.MetadataOf(secrets), pageSize, func(secret *metav1.PartialObjectMetadata) {
		name, ok := strings.CutPrefix(secret.Annotations[ReconcilerName+"/"+types.AnnotationKeySuffixOwnerId], OwnerID(secret.Namespace, ""))
		if ok {
			found[apitypes.NamespacedName{Namespace: secret.Namespace, Name: name}] = true
		}
	}, client.InNamespace(namespace), client.HasLabels{ReconcilerName + "/" + types.LabelKeySuffixInventoryOwnerId})
	if err != nil {
		return nil, fmt.Errorf("listing what is kept of releases: %w", err)
	}
	return sortedNames(found), nil
}

func sortedNames(names map[apitypes.NamespacedName]bool) []apitypes.NamespacedName {
	return slices.SortedFunc(maps.Keys(names), func(a, b apitypes.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
}

// HasParts reports whether a release has chunks, with or without a record.
func (s *Store) HasParts(ctx context.Context, namespace, name string) (bool, error) {
	found, err := s.chunks(namespace, name).List(ctx)
	if err != nil {
		return false, fmt.Errorf("looking for parts of a record of release %s/%s: %w", namespace, name, err)
	}
	return len(found) > 0, nil
}

// Nearby returns up to ten releases that a user may have meant by a name that does not exist, as "namespace/name":
// those of that name in other namespaces, and all in the namespace. It looks only in the namespace if the user may not
// list all namespaces.
func (s *Store) Nearby(ctx context.Context, namespace, name string) ([]string, error) {
	names, err := s.Names(ctx, "")
	if apierrors.IsForbidden(err) {
		names, err = s.Names(ctx, namespace)
	}
	if err != nil {
		return nil, err
	}
	var sameName, sameNamespace []string
	for _, other := range names {
		switch {
		case other.Namespace == namespace && other.Name == name:
			// It was created in the meantime.
		case other.Name == name:
			sameName = append(sameName, other.String())
		case other.Namespace == namespace:
			sameNamespace = append(sameNamespace, other.String())
		}
	}
	const limit = 10
	found := slices.Concat(sameName, sameNamespace)
	return found[:min(len(found), limit)], nil
}

// ours selects the indexes among the Secrets.
var ours client.ListOption = client.MatchingLabels{recordLabel: recordRelease}

// selectRecords selects the indexes of releases with labels; nil selects all.
func selectRecords(selector labels.Selector) labels.Selector {
	records := labels.SelectorFromSet(labels.Set{recordLabel: recordRelease})
	if selector == nil {
		return records
	}
	requirements, _ := selector.Requirements()
	return records.Add(requirements...)
}

// secrets and configMaps are the types of the records.
var secrets, configMaps = corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("ConfigMap")

// Watch calls a function once when the watch on the record of a release has started, even if there is no record, and
// then whenever the record was created, written or removed. Without a name, it watches the records of all releases of a
// namespace; of all namespaces if that is empty. It returns nil when the context ends. The function must not block.
func (s *Store) Watch(ctx context.Context, namespace, name string, changed func()) error {
	selection, what := apiserver.ListSelection{Labels: selectRecords(nil).String()}, "the records of all releases"
	if name != "" {
		if err := ValidateName(name); err != nil {
			return err
		}
		selection, what = apiserver.ListSelection{Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, prefix+name).String()}, "Secret "+namespace+"/"+prefix+name
	}
	objects, err := metadata.NewForConfigAndClient(metadata.ConfigFor(s.client.Config()), s.client.HttpClient())
	if err != nil {
		return fmt.Errorf("setting up a watch: %w", err)
	}
	records := objects.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	err = apiserver.Watch(ctx, apiserver.ListWatch(records, selection), func(apiserver.Change) error { changed(); return nil })
	if err != nil {
		return fmt.Errorf("watching %s: %w", what, err)
	}
	return nil
}

// Rights returns the permissions in the namespace of a release that a user needs to change its record and lock. Chunks
// cannot be restricted by name, because their names depend on their content; neither can objects to create. The
// ancestor's record is only read, to find that there is none.
func Rights(name string) []rbacv1.PolicyRule {
	lock := []string{prefix + name}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "patch", "delete"}},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"configmaps"}, ResourceNames: []string{ancestorPrefix + name}, Verbs: []string{"get"}},
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, ResourceNames: lock, Verbs: []string{"get", "update", "delete"}},
	}
}
