// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"cmp"
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
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/component-operator/runtime/pkg/cluster"
)

// KubernetesVersion is the default version of a cluster.
const KubernetesVersion = "v1.36.0"

// OfflineOptions describe the cluster.
type OfflineOptions struct {
	// KubernetesVersion defaults to KubernetesVersion.
	KubernetesVersion string
	// APIVersions are served in addition to the stable ones of Kubernetes, as "group/version" or "group/version/Kind";
	// the kinds are namespaced.
	APIVersions []string
	// Scheme contains the types of the client. Required.
	Scheme *runtime.Scheme
	// Objects are the objects in the cluster. They are copied. Defaults to none.
	Objects []client.Object
}

// NewOfflineClient returns a client for a cluster in memory.
func NewOfflineClient(options OfflineOptions) (cluster.Client, error) {
	server, mapper, err := Server(cmp.Or(options.KubernetesVersion, KubernetesVersion), options.APIVersions)
	if err != nil {
		return nil, err
	}
	objects := make([]client.Object, len(options.Objects))
	for i, object := range options.Objects {
		copied, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			return nil, fmt.Errorf("copying object %q: the copy of a %T is not an object", object.GetName(), object)
		}
		objects[i] = copied
	}
	clnt := fake.NewClientBuilder().WithScheme(options.Scheme).WithRESTMapper(mapper).WithObjects(objects...).Build()
	return cluster.NewClient(clnt, server, nil, &rest.Config{}, nil), nil
}

// Server returns what an API server without objects says about itself: a discovery client, and a mapper. The version of
// Kubernetes has the form v1.2.3. The API versions are as in OfflineOptions.
func Server(kubernetesVersion string, apiVersions []string) (discovery.DiscoveryInterface, meta.RESTMapper, error) {
	parsed, err := utilversion.ParseSemantic(kubernetesVersion)
	if err != nil {
		return nil, nil, fmt.Errorf("reading KubernetesVersion: %w", err)
	}
	kinds, err := Kinds(apiVersions)
	if err != nil {
		return nil, nil, err
	}
	resources, mapper := Resources(kinds)
	info := &version.Info{GitVersion: kubernetesVersion, Major: fmt.Sprint(parsed.Major()), Minor: fmt.Sprint(parsed.Minor())}
	return &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: resources}, FakedServerVersion: info}, mapper, nil
}

// Resources returns the discovery information and a mapper for the kinds, which must be sorted.
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
		if IsClusterScoped(kind.Kind) {
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

// stable matches versions that every cluster serves. Others are left out, because a generator that finds an old version
// would render objects that no current cluster accepts.
var stable = regexp.MustCompile(`^v[0-9]+$`)

// clusterScoped are the cluster-scoped kinds of Kubernetes. The Go types do not contain the scope.
var clusterScoped = []string{
	"APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ComponentStatus",
	"CustomResourceDefinition", "DeviceClass", "FlowSchema", "IPAddress", "IngressClass", "MutatingAdmissionPolicy",
	"MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PriorityClass",
	"PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass", "SelfSubjectAccessReview", "SelfSubjectReview",
	"SelfSubjectRulesReview", "ServiceCIDR", "StorageClass", "SubjectAccessReview", "TokenReview", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment", "VolumeAttributesClass",
}

// IsClusterScoped reports whether a kind of Kubernetes is cluster-scoped.
func IsClusterScoped(kind string) bool { return slices.Contains(clusterScoped, kind) }

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
