// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/component-operator/runtime/pkg/types"
)

// Request says what rights are needed for.
type Request struct {
	// ReconcilerName is the prefix of the annotations that are policies. Required.
	ReconcilerName string
	// Namespace is where objects are whose manifest names no namespace. Required, unless Everywhere.
	Namespace string
	// Objects are what is applied, hooks included.
	Objects []*unstructured.Unstructured
	// CreateNamespace means that the namespace may have to be created.
	CreateNamespace bool
	// Everywhere means that the objects may be in any namespace, so that all rules are for the whole cluster.
	Everywhere bool
	// ReadsDefinitions means that the definitions of types which none of the objects defines are read.
	ReadsDefinitions bool
	// Record are the rules in the namespace for what is recorded of the objects. Defaults to none.
	Record []rbacv1.PolicyRule
	// UpdatePolicy is that of objects whose annotations say nothing. Defaults to types.UpdatePolicySsaOverride.
	UpdatePolicy string
	// Resolve asks the cluster for a type that neither Kubernetes nor one of the objects defines.
	Resolve func(kind schema.GroupKind) (Resource, error)
}

// Resource is how the API calls a type.
type Resource struct {
	schema.GroupResource

	// Namespaced reports whether objects of the type live in namespaces.
	Namespaced bool
}

// wholeCluster is in the place of a namespace.
const wholeCluster = ""

// rights collects what is needed, by namespace.
type rights struct {
	Request

	types     *typesOf
	missing   map[string]bool // namespaces that are among the objects
	collected map[string]*rules
}

// Of returns the rules that are needed, by namespace; under the empty one are those for the whole cluster.
func Of(request Request) (map[string][]rbacv1.PolicyRule, error) {
	request.UpdatePolicy = cmp.Or(request.UpdatePolicy, types.UpdatePolicySsaOverride)
	r := &rights{Request: request, missing: map[string]bool{}, collected: map[string]*rules{}}
	var err error
	if r.types, err = newTypesOf(request); err != nil {
		return nil, err
	}
	if request.CreateNamespace {
		r.missing[request.Namespace] = true
		r.add(wholeCluster, corev1.GroupName, "namespaces", nil, "create")
	}
	for _, object := range request.Objects {
		if object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			r.missing[object.GetName()] = true
			if object.GetName() != request.Namespace {
				// Before it is deleted, it is looked into for objects of others.
				r.add(wholeCluster, rbacv1.APIGroupAll, rbacv1.ResourceAll, nil, "list")
			}
		}
	}
	for _, rule := range request.Record {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				r.add(request.Namespace, group, resource, rule.ResourceNames, rule.Verbs...)
			}
		}
	}
	for _, object := range request.Objects {
		if err := r.addObject(object); err != nil {
			return nil, err
		}
	}
	result := map[string][]rbacv1.PolicyRule{}
	for place, collected := range r.collected {
		result[place] = collected.policyRules()
	}
	return result, nil
}

// in returns the rules for a namespace, or for the whole cluster.
func (r *rights) in(namespace string) *rules {
	if r.Everywhere || r.missing[namespace] {
		namespace = wholeCluster
	}
	if r.collected[namespace] == nil {
		r.collected[namespace] = newRules()
	}
	return r.collected[namespace]
}

// add allows verbs in a namespace, or in the whole cluster.
func (r *rights) add(namespace, group, resource string, names []string, verbs ...string) {
	r.in(namespace).add(schema.GroupResource{Group: group, Resource: resource}, names, verbs...)
}

func (r *rights) addObject(object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind().GroupKind()
	resource, err := r.types.find(kind)
	if err != nil {
		return fmt.Errorf("%s: %w", types.ObjectText(kind, object.GetNamespace(), object.GetName()), err)
	}
	namespace := wholeCluster
	if resource.Namespaced {
		namespace = cmp.Or(object.GetNamespace(), r.Namespace)
	}
	// An object is created by applying it, which is a patch. Without permission to list and watch, the operator asks
	// for one object after the other.
	verbs := []string{"get", "list", "watch", "create", "patch", "delete"}
	if r.removesFields(object) {
		verbs = append(verbs, "update")
	}
	r.add(namespace, resource.Group, resource.Resource, nil, verbs...)
	if r.ReadsDefinitions && isCustom(kind.Group) {
		r.add(wholeCluster, apiextensionsv1.GroupName, "customresourcedefinitions", []string{resource.GroupResource.String()}, "get")
	}
	r.addClaims(object, kind, namespace)
	return r.addFurther(object, kind, namespace)
}

// isCustom reports whether the types of a group may have definitions.
func isCustom(group string) bool {
	return group != apiextensionsv1.GroupName && group != "apiregistration.k8s.io" && !scheme.Scheme.IsGroupRegistered(group)
}

// removesFields reports whether what others have added to the object is removed, which takes an update.
func (r *rights) removesFields(object *unstructured.Unstructured) bool {
	policy := r.updatePolicy(object)
	return policy != types.UpdatePolicySsaMerge && policy != types.UpdatePolicyRecreate
}

func (r *rights) updatePolicy(object *unstructured.Unstructured) string {
	return cmp.Or(object.GetAnnotations()[r.ReconcilerName+"/"+types.AnnotationKeySuffixUpdatePolicy], r.UpdatePolicy)
}

// addClaims adds what it takes to find out, before an object is created anew, that no claims with data would go with
// it. Most of Kubernetes' own kinds own none.
func (r *rights) addClaims(object *unstructured.Unstructured, kind schema.GroupKind, namespace string) {
	custom := strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
	recreates := strings.EqualFold(object.GetAnnotations()[r.ReconcilerName+"/"+types.AnnotationKeySuffixRecreateIfImmutable], "true")
	if !recreates && r.updatePolicy(object) != types.UpdatePolicyRecreate || !custom && kind != (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		return
	}
	r.add(namespace, corev1.GroupName, "persistentvolumeclaims", nil, "list")
	if namespace == wholeCluster {
		r.add(namespace, corev1.GroupName, "persistentvolumes", nil, "list")
	}
}

// addFurther adds what is needed beside the objects of a kind themselves.
func (r *rights) addFurther(object *unstructured.Unstructured, kind schema.GroupKind, namespace string) error {
	switch kind {
	case schema.GroupKind{Group: rbacv1.GroupName, Kind: "Role"}, schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRole"}:
		return r.addRole(object, namespace)
	case schema.GroupKind{Group: rbacv1.GroupName, Kind: "RoleBinding"}, schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}:
		r.addBinding(object, namespace)
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		// The status of a claim depends on the pods that use it.
		var names []string
		if class, found, _ := unstructured.NestedString(object.Object, "spec", "storageClassName"); found {
			names = []string{class}
		}
		r.add(wholeCluster, storagev1.GroupName, "storageclasses", names, "get")
	case schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}:
		// Before a type is deleted, it is found out that there are no instances of it. If there are, they are watched
		// until they are gone.
		defined, err := definedBy(object)
		if err != nil {
			return err
		}
		r.add(wholeCluster, defined.Group, defined.Resource, nil, "list", "watch")
		// Meanwhile, a policy denies creating some. A ConfigMap that is not stored shows whether it is enforced.
		for _, resource := range []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"} {
			r.add(wholeCluster, admissionregistrationv1.GroupName, resource, nil, "get", "create", "patch", "delete")
		}
		r.add(r.Namespace, corev1.GroupName, "configmaps", nil, "create")
	case schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		r.add(wholeCluster, group, rbacv1.ResourceAll, nil, "list")
	}
	return nil
}

// addRole adds what it takes to write a role. Nobody may hand out rights that they do not have, unless they may do just
// that, for a role of a known name. The names of roles that may be anywhere are not known, and the right to write any
// role would be a right to everything: so the rules of the role are added instead, for all objects of a kind, because
// names in these rules are not known either.
func (r *rights) addRole(object *unstructured.Unstructured, namespace string) error {
	resource := strings.ToLower(object.GetKind()) + "s"
	if !r.Everywhere {
		r.add(namespace, rbacv1.GroupName, resource, []string{object.GetName()}, "escalate")
		return nil
	}
	role := &rbacv1.ClusterRole{} // a Role has the same fields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
		return fmt.Errorf("reading the rules: %w", err)
	}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				r.add(wholeCluster, group, resource, nil, rule.Verbs...)
			}
		}
		for _, path := range rule.NonResourceURLs {
			r.in(wholeCluster).addPath(path, rule.Verbs...)
		}
	}
	return nil
}

// addBinding adds what it takes to bind a role: the right to do so, unless the role is one of the objects, whose rules
// addRole has added.
func (r *rights) addBinding(object *unstructured.Unstructured, namespace string) {
	kind, _, _ := unstructured.NestedString(object.Object, "roleRef", "kind")
	name, _, _ := unstructured.NestedString(object.Object, "roleRef", "name")
	own := slices.ContainsFunc(r.Objects, func(other *unstructured.Unstructured) bool {
		return other.GroupVersionKind().GroupKind() == schema.GroupKind{Group: rbacv1.GroupName, Kind: kind} && other.GetName() == name
	})
	if r.Everywhere && own {
		return
	}
	resource := "clusterroles"
	if kind == "Role" {
		resource = "roles"
	}
	r.add(namespace, rbacv1.GroupName, resource, []string{name}, "bind")
}
