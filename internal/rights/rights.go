// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/pkg/types"
)

// Request describes what rights are needed for.
type Request struct {
	// ReconcilerName is the prefix of policy annotations. Required.
	ReconcilerName string
	// Namespace is the namespace of objects whose manifests have none. Required, unless Everywhere.
	Namespace string
	// Objects are the objects to be applied, including hooks.
	Objects []*unstructured.Unstructured
	// CreateNamespace means that the namespace may have to be created.
	CreateNamespace bool
	// Everywhere means that the objects may be in any namespace, so all rules are for the whole cluster.
	Everywhere bool
	// ReadsDefinitions means that definitions are read of types that none of the objects defines.
	ReadsDefinitions bool
	// Record are the rules in the namespace for the record of the owner. Defaults to none.
	Record []rbacv1.PolicyRule
	// UpdatePolicy is the default for objects without an annotation. Defaults to types.UpdatePolicySsaOverride.
	UpdatePolicy string
	// Resolve looks up a type in the cluster that is neither part of Kubernetes nor defined by one of the objects.
	Resolve func(kind schema.GroupKind) (Resource, error)
}

// Resource is the API resource of a type.
type Resource struct {
	schema.GroupResource

	// Namespaced reports whether objects of the type are in namespaces.
	Namespaced bool
}

// wholeCluster stands for the whole cluster in place of a namespace.
const wholeCluster = ""

// rights collects the needed rules by namespace.
type rights struct {
	Request

	known     map[schema.GroupKind]Resource // has the types of Kubernetes, and those that the objects define
	missing   map[string]bool               // namespaces that are among the objects
	collected map[string]*rules
}

// Of returns the needed rules by namespace. Rules for the whole cluster are under the empty namespace.
func Of(request Request) (map[string][]rbacv1.PolicyRule, error) {
	request.UpdatePolicy = cmp.Or(request.UpdatePolicy, types.UpdatePolicySsaOverride)
	r := &rights{Request: request, missing: map[string]bool{}, collected: map[string]*rules{}}
	var err error
	if r.known, err = knownTypes(request.Objects); err != nil {
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
				// Before its deletion, it is searched for objects of others.
				r.add(wholeCluster, rbacv1.APIGroupAll, rbacv1.ResourceAll, nil, "list")
			}
		}
	}
	for _, rule := range request.Record {
		r.addRule(request.Namespace, rule, rule.ResourceNames)
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

// in returns the collected rules for a namespace, or for the whole cluster.
func (r *rights) in(namespace string) *rules {
	if r.Everywhere || r.missing[namespace] {
		namespace = wholeCluster
	}
	if r.collected[namespace] == nil {
		r.collected[namespace] = &rules{verbs: map[schema.GroupResource]map[string]sets.Set[string]{}, paths: map[string]sets.Set[string]{}}
	}
	return r.collected[namespace]
}

// addRule adds a rule for objects of the given names, or for all if there are none.
func (r *rights) addRule(namespace string, rule rbacv1.PolicyRule, names []string) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			r.add(namespace, group, resource, names, rule.Verbs...)
		}
	}
}

// add allows verbs in a namespace, or in the whole cluster.
func (r *rights) add(namespace, group, resource string, names []string, verbs ...string) {
	r.in(namespace).add(schema.GroupResource{Group: group, Resource: resource}, names, verbs...)
}

func (r *rights) addObject(object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind().GroupKind()
	resource, err := r.find(kind)
	if err != nil {
		return fmt.Errorf("%s: %w", types.ObjectText(kind, object.GetNamespace(), object.GetName()), err)
	}
	namespace := wholeCluster
	if resource.Namespaced {
		namespace = cmp.Or(object.GetNamespace(), r.Namespace)
	}
	// Applying an object, which is a patch, creates it. Without permission to list and watch, the operator would read
	// each object separately.
	verbs := []string{"get", "list", "watch", "create", "patch", "delete"}
	if policy := r.updatePolicy(object); policy != types.UpdatePolicySsaMerge && policy != types.UpdatePolicyRecreate {
		// Updates remove fields that others have added.
		verbs = append(verbs, "update")
	}
	r.add(namespace, resource.Group, resource.Resource, nil, verbs...)
	if r.ReadsDefinitions && !apiserver.IsBuiltIn(kind.Group) {
		r.add(wholeCluster, apiextensionsv1.GroupName, "customresourcedefinitions", []string{resource.GroupResource.String()}, "get")
	}
	r.addClaims(object, kind, namespace)
	return r.addFurther(object, kind, namespace)
}

func (r *rights) updatePolicy(object *unstructured.Unstructured) string {
	return cmp.Or(object.GetAnnotations()[r.ReconcilerName+"/"+types.AnnotationKeySuffixUpdatePolicy], r.UpdatePolicy)
}

// addClaims adds the rights to check, before an object is recreated, that its deletion would not delete claims with
// data. Most of Kubernetes' own kinds own none.
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

// addFurther adds the rights for everything besides the objects themselves.
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
		// Before a type is deleted, its instances are listed. If there are any, they are watched until they are gone.
		defined, err := definedBy(object)
		if err != nil {
			return err
		}
		r.add(wholeCluster, defined.Group, defined.Resource, nil, "list", "watch")
		// Meanwhile, a policy denies creating instances. The dry run of creating a ConfigMap shows whether it is
		// enforced.
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

// addRole adds the rights to write a role. Kubernetes lets nobody grant rights that they lack, except with the verb
// escalate, which is added for roles of known names. The names of roles that may be anywhere are unknown, and
// escalating any role would be a right to everything. So the rules of the role are added instead, for all objects of a
// kind, because names in these rules are unknown, too.
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
		r.addRule(wholeCluster, rule, nil)
		for _, path := range rule.NonResourceURLs {
			r.in(wholeCluster).addPath(path, rule.Verbs...)
		}
	}
	return nil
}

// addBinding adds the right to bind a role, unless the role is one of the objects, whose rules addRole has added.
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

// verbOrder is the usual order of verbs.
var verbOrder = []string{"get", "list", "watch", "create", "update", "patch", "delete", "bind", "escalate"}

// rules collects rules, each for one resource and one verb.
type rules struct {
	// verbs contains verbs by resource, and names by verb. No name means all objects.
	verbs map[schema.GroupResource]map[string]sets.Set[string]
	// paths are non-resource URLs, with their verbs.
	paths map[string]sets.Set[string]
}

func (r *rules) add(resource schema.GroupResource, names []string, verbs ...string) {
	if r.verbs[resource] == nil {
		r.verbs[resource] = map[string]sets.Set[string]{}
	}
	of := r.verbs[resource]
	for _, verb := range verbs {
		if allowed, known := of[verb]; len(names) == 0 || known && len(allowed) == 0 {
			of[verb] = nil
		} else {
			of[verb] = sets.New(names...).Union(allowed)
		}
	}
}

func (r *rules) addPath(path string, verbs ...string) {
	r.paths[path] = sets.New(verbs...).Union(r.paths[path])
}

// policyRules merges the rules into a few equivalent ones: verbs for the same objects share a rule, and so do resources
// of a group with the same verbs. Rules for paths come last.
func (r *rules) policyRules() []rbacv1.PolicyRule {
	var result []rbacv1.PolicyRule
	for _, resource := range slices.SortedFunc(maps.Keys(r.verbs), func(a, b schema.GroupResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	}) {
		for _, rule := range rulesOf(resource, r.verbs[resource]) {
			at := slices.IndexFunc(result, func(other rbacv1.PolicyRule) bool {
				return len(rule.ResourceNames)+len(other.ResourceNames) == 0 && other.APIGroups[0] == resource.Group && slices.Equal(other.Verbs, rule.Verbs)
			})
			if at < 0 {
				result = append(result, rule)
				continue
			}
			result[at].Resources = append(result[at].Resources, resource.Resource)
		}
	}
	return append(result, r.pathRules()...)
}

// pathRules returns a rule for each set of verbs.
func (r *rules) pathRules() []rbacv1.PolicyRule {
	var result []rbacv1.PolicyRule
	for _, path := range slices.Sorted(maps.Keys(r.paths)) {
		verbs := sortedVerbs(maps.Keys(r.paths[path]))
		at := slices.IndexFunc(result, func(other rbacv1.PolicyRule) bool { return slices.Equal(other.Verbs, verbs) })
		if at < 0 {
			result = append(result, rbacv1.PolicyRule{NonResourceURLs: []string{path}, Verbs: verbs})
			continue
		}
		result[at].NonResourceURLs = append(result[at].NonResourceURLs, path)
	}
	return result
}

// sortedVerbs returns verbs in the order of verbOrder, followed by others.
func sortedVerbs(verbs iter.Seq[string]) []string {
	place := func(verb string) int {
		if at := slices.Index(verbOrder, verb); at >= 0 {
			return at
		}
		return len(verbOrder)
	}
	return slices.SortedFunc(verbs, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
}

// rulesOf returns the rules for one resource: first for all objects, then for names.
func rulesOf(resource schema.GroupResource, verbs map[string]sets.Set[string]) []rbacv1.PolicyRule {
	byNames := map[string]*rbacv1.PolicyRule{}
	for _, verb := range sortedVerbs(maps.Keys(verbs)) {
		names := slices.Sorted(maps.Keys(verbs[verb]))
		key := strings.Join(names, "\x00")
		if byNames[key] == nil {
			byNames[key] = &rbacv1.PolicyRule{APIGroups: []string{resource.Group}, Resources: []string{resource.Resource}, ResourceNames: names}
		}
		byNames[key].Verbs = append(byNames[key].Verbs, verb)
	}
	var result []rbacv1.PolicyRule
	for _, key := range slices.Sorted(maps.Keys(byNames)) {
		result = append(result, *byNames[key])
	}
	return result
}

// knownTypes returns the types of Kubernetes, and those that the objects define.
func knownTypes(objects []*unstructured.Unstructured) (map[schema.GroupKind]Resource, error) {
	kinds, err := Kinds(nil)
	if err != nil {
		return nil, err
	}
	known := map[schema.GroupKind]Resource{}
	_, mapper := Resources(kinds)
	for _, kind := range kinds {
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, err
		}
		known[kind.GroupKind()] = ResourceOf(mapping)
	}
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}) {
			continue
		}
		resource, err := definedBy(object)
		if err != nil {
			return nil, err
		}
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		known[schema.GroupKind{Group: resource.Group, Kind: kind}] = resource
	}
	return known, nil
}

// definedBy returns the type that a CustomResourceDefinition defines.
func definedBy(definition *unstructured.Unstructured) (Resource, error) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
	if group == "" || plural == "" {
		return Resource{}, fmt.Errorf("CustomResourceDefinition %s: spec.group and spec.names.plural are required", definition.GetName())
	}
	return Resource{
		GroupResource: schema.GroupResource{Group: group, Resource: plural}, Namespaced: scope == string(apiextensionsv1.NamespaceScoped),
	}, nil
}

func (r *rights) find(kind schema.GroupKind) (Resource, error) {
	if resource, found := r.known[kind]; found {
		return resource, nil
	}
	if r.Resolve == nil {
		return Resource{}, errors.New("its type is not one of Kubernetes, and none that the objects define")
	}
	return r.Resolve(kind)
}

// ResourceOf returns the resource of a mapping.
func ResourceOf(mapping *meta.RESTMapping) Resource {
	return Resource{GroupResource: mapping.Resource.GroupResource(), Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}
}

// Roles returns a Role with the given name for each namespace that needs one, and a ClusterRole if the whole cluster
// does. If a service account is given, the bindings of these roles to it follow.
func Roles(needed map[string][]rbacv1.PolicyRule, name string, serviceAccount apitypes.NamespacedName) []client.Object {
	var roles, bindings []client.Object
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: serviceAccount.Namespace, Name: serviceAccount.Name}}
	for _, namespace := range slices.Sorted(maps.Keys(needed)) {
		metadata := metav1.ObjectMeta{Namespace: namespace, Name: name}
		reference := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
		if namespace == wholeCluster {
			reference.Kind = "ClusterRole"
			roles = append(roles, &rbacv1.ClusterRole{TypeMeta: typeOf("ClusterRole"), ObjectMeta: metadata, Rules: needed[namespace]})
			bindings = append(bindings, &rbacv1.ClusterRoleBinding{
				TypeMeta: typeOf("ClusterRoleBinding"), ObjectMeta: metadata, Subjects: subjects, RoleRef: reference,
			})
			continue
		}
		roles = append(roles, &rbacv1.Role{TypeMeta: typeOf("Role"), ObjectMeta: metadata, Rules: needed[namespace]})
		bindings = append(bindings, &rbacv1.RoleBinding{TypeMeta: typeOf("RoleBinding"), ObjectMeta: metadata, Subjects: subjects, RoleRef: reference})
	}
	if serviceAccount.Name == "" {
		return roles
	}
	return append(roles, bindings...)
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// Need is a use of an operator that requires further rights. Its text is the name of the switch in the values of the
// operator's chart.
type Need string

const (
	// NeedNothing means that the rights are always needed.
	NeedNothing Need = ""
	// NeedReferences means that components refer to Secrets or ConfigMaps, such as one with a kubeconfig.
	NeedReferences Need = "references"
	// NeedImpersonation means that dependents are written as a service account that the component chooses.
	NeedImpersonation Need = "impersonation"
	// NeedNamespaces means that dependents are in other namespaces than the component, and that the operator creates
	// these namespaces.
	NeedNamespaces Need = "namespaces"
	// NeedDeletionHooks means that some hooks run when the component is deleted.
	NeedDeletionHooks Need = "deletionHooks"
)

// Purpose is something that an operator does besides managing dependents, with the required rights.
type Purpose struct {
	// Text describes the purpose in a few words.
	Text string
	// Need is the condition under which the rights are needed.
	Need Need
	// Home means that the rights are needed only in the namespace of the operator, not in the whole cluster.
	Home bool
	// Rules are the rights.
	Rules []rbacv1.PolicyRule
}

// OfOperator returns the purposes of an operator for components of the given resource. With these rights and those of
// [Of] for the dependents, no request in a component's life is denied, and each right is used. A test of the scaffolder
// checks this with the role of a chart.
func OfOperator(components schema.GroupResource) []Purpose {
	purpose := func(text string, need Need, group string, resources, verbs []string) Purpose {
		return Purpose{Text: text, Need: need, Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: resources, Verbs: verbs}}}
	}
	read := []string{"get", "list", "watch"}
	state := []string{"get", "list", "create", "patch", "delete"}

	cluster := purpose("recognizing the cluster", NeedNothing, "", []string{"namespaces"}, []string{"get"})
	cluster.Rules[0].ResourceNames = []string{"kube-system"}
	election := purpose("leader election", NeedNothing, "coordination.k8s.io", []string{"leases"}, []string{"get", "create", "update"})
	election.Home = true
	return []Purpose{
		purpose("the component and its finalizer", NeedNothing, components.Group, []string{components.Resource}, append(read[:3:3], "patch")),
		purpose("the status of the component", NeedNothing, components.Group, []string{components.Resource + "/status"}, []string{"patch"}),
		purpose("events on the component", NeedNothing, "", []string{"events"}, []string{"create", "patch"}),
		purpose("inventories that are too large for the status", NeedNothing, "", []string{"configmaps"}, state),
		cluster,
		purpose("types of dependents", NeedNothing, "apiextensions.k8s.io", []string{"customresourcedefinitions"}, read),
		purpose("types that other API servers serve", NeedNothing, "apiregistration.k8s.io", []string{"apiservices"}, read),
		purpose("Pods of dependents, to say why they are not ready", NeedNothing, "", []string{"pods"}, []string{"list"}),
		purpose("deletion hooks", NeedDeletionHooks, "", []string{"secrets"}, state),
		purpose("references of components", NeedReferences, "", []string{"configmaps", "secrets"}, read),
		purpose("service accounts that components choose", NeedImpersonation, "", []string{"serviceaccounts"}, []string{"impersonate"}),
		purpose("missing namespaces of dependents", NeedNamespaces, "", []string{"namespaces"}, []string{"create"}),
		election,
	}
}
