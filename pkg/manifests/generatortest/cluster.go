// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/component-operator/runtime/pkg/cluster"
)

// newClient returns a client for a cluster that exists in memory only.
func newClient(c Case, scheme *runtime.Scheme) (cluster.Client, error) {
	parsed, err := utilversion.ParseSemantic(c.KubernetesVersion)
	if err != nil {
		return nil, fmt.Errorf("reading KubernetesVersion: %w", err)
	}
	kinds, err := servedKinds(c.APIVersions)
	if err != nil {
		return nil, err
	}
	resources, mapper := catalog(kinds)
	server := &fakediscovery.FakeDiscovery{
		Fake: &clienttesting.Fake{Resources: resources},
		FakedServerVersion: &version.Info{
			GitVersion: c.KubernetesVersion, Major: fmt.Sprint(parsed.Major()), Minor: fmt.Sprint(parsed.Minor()),
		},
	}
	objects := make([]client.Object, len(c.Objects))
	for i, object := range c.Objects {
		copied, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			return nil, fmt.Errorf("copying object %q: the copy of a %T is no object", object.GetName(), object)
		}
		objects[i] = copied
	}
	clnt := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).Build()
	return cluster.NewClient(clnt, server, nil, &rest.Config{}, nil), nil
}

// catalog returns what discovery says of the kinds, which are sorted.
func catalog(kinds []schema.GroupVersionKind) ([]*metav1.APIResourceList, meta.RESTMapper) {
	mapper := meta.NewDefaultRESTMapper(nil)
	var lists []*metav1.APIResourceList
	for _, kind := range kinds {
		if groupVersion := kind.GroupVersion().String(); len(lists) == 0 || lists[len(lists)-1].GroupVersion != groupVersion {
			lists = append(lists, &metav1.APIResourceList{GroupVersion: groupVersion})
		}
		if kind.Kind == "" {
			continue // only the version is known to be served
		}
		scope := meta.RESTScopeNamespace
		if slices.Contains(clusterScoped, kind.Kind) {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(kind, scope)
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		list := lists[len(lists)-1]
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: plural.Resource, SingularName: strings.ToLower(kind.Kind), Kind: kind.Kind, Namespaced: scope == meta.RESTScopeNamespace,
			Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"},
		})
	}
	return lists, mapper
}

// stable matches the versions that any cluster serves. Others are not offered, since generators that ask for an old one would
// render what no cluster takes any more.
var stable = regexp.MustCompile(`^v[0-9]+$`)

// clusterScoped are the kinds of Kubernetes that have no namespace. The Go types do not say it.
var clusterScoped = []string{
	"APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ComponentStatus",
	"CustomResourceDefinition", "DeviceClass", "FlowSchema", "IPAddress", "IngressClass", "MutatingAdmissionPolicy",
	"MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PriorityClass",
	"PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass", "SelfSubjectAccessReview", "SelfSubjectReview",
	"SelfSubjectRulesReview", "ServiceCIDR", "StorageClass", "SubjectAccessReview", "TokenReview", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment", "VolumeAttributesClass",
}

// servedKinds returns the kinds of Kubernetes, and the given ones, sorted; without a kind if only a version is given.
func servedKinds(apiVersions []string) ([]schema.GroupVersionKind, error) {
	kinds := []schema.GroupVersionKind{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	}
	for kind, goType := range clientgoscheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(goType).Interface().(client.Object); ok && stable.MatchString(kind.Version) {
			kinds = append(kinds, kind)
		}
	}
	for _, text := range apiVersions {
		parts := strings.Split(text, "/")
		if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			return nil, fmt.Errorf("invalid API version %q; allowed are: group/version and group/version/Kind", text)
		}
		kind := schema.GroupVersionKind{Group: parts[0], Version: parts[1]}
		if len(parts) == 3 {
			kind.Kind = parts[2]
		}
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(kinds), nil
}
