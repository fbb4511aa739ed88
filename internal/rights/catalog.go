// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Version returns the version information that an API server of the given version, in the form v1.2.3, reports.
func Version(text string) (version.Info, error) {
	parsed, err := utilversion.ParseSemantic(text)
	if err != nil {
		return version.Info{}, err
	}
	return version.Info{GitVersion: text, Major: fmt.Sprint(parsed.Major()), Minor: fmt.Sprint(parsed.Minor())}, nil
}

// Resources returns the discovery information of the kinds, which must be sorted, and a mapper for them.
func Resources(kinds []schema.GroupVersionKind) ([]*metav1.APIResourceList, meta.RESTMapper) {
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

// stable matches the versions that every cluster serves. Others are left out: a generator that finds an old version
// would render objects that no current cluster accepts.
var stable = regexp.MustCompile(`^v[0-9]+$`)

// clusterScoped are the cluster-scoped kinds of Kubernetes. The Go types do not have the scope.
var clusterScoped = []string{
	"APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ComponentStatus",
	"CustomResourceDefinition", "DeviceClass", "FlowSchema", "IPAddress", "IngressClass", "MutatingAdmissionPolicy",
	"MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PriorityClass",
	"PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass", "SelfSubjectAccessReview", "SelfSubjectReview",
	"SelfSubjectRulesReview", "ServiceCIDR", "StorageClass", "SubjectAccessReview", "TokenReview", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment", "VolumeAttributesClass",
}

// Kinds returns the kinds of the stable versions of Kubernetes, and the given ones, sorted. A given one has the form
// group/version/Kind, or group/version, which yields an entry without a kind.
func Kinds(apiVersions []string) ([]schema.GroupVersionKind, error) {
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
			return nil, fmt.Errorf("invalid API version %q; must be group/version or group/version/Kind", text)
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
