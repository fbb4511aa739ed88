// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/secrets"
	"github.com/component-operator/runtime/pkg/types"
	"github.com/component-operator/runtime/scaffold/internal/values"
)

// A Rule is a permission of the operator.
type Rule struct {
	rbacv1.PolicyRule
	// Reason is the purpose of the rule.
	Reason string
	// Need is the condition for the rule; its text is the name of a value of the chart.
	Need rights.Need
}

// A Switch is a value of the operator's chart that grants rights to the operator.
type Switch struct {
	// Name is the name of the value below rbac.
	Name string
	// Purpose is the purpose of the rights.
	Purpose string
	// On is the default.
	On bool
}

// Permissions are all rules of the operator.
type Permissions struct {
	// Cluster are rules for all namespaces and cluster-scoped objects, Namespace those for the namespace of the
	// operator.
	Cluster, Namespace []Rule
	// Switches are for rules that not every operator needs.
	Switches []Switch
}

// yamlOf returns the rules as items of a role in a chart, each with its reason above it.
func yamlOf(rules []Rule) string {
	var out strings.Builder
	for _, rule := range rules {
		if rule.Need != rights.NeedNothing {
			fmt.Fprintf(&out, "  {{- if .Values.rbac.%s }}\n", rule.Need)
		}
		fmt.Fprintf(&out, "  # %s\n", markdown(rule.Reason))
		marker := "- "
		for _, row := range []struct {
			name   string
			values []string
		}{
			{"apiGroups", rule.APIGroups},
			{"resources", rule.Resources},
			{"resourceNames", rule.ResourceNames},
			{"nonResourceURLs", rule.NonResourceURLs},
			{"verbs", rule.Verbs},
		} {
			if len(row.values) > 0 {
				fmt.Fprintf(&out, "  %s%s: [%s]\n", marker, row.name, quoted(row.values))
				marker = "  "
			}
		}
		if rule.Need != rights.NeedNothing {
			out.WriteString("  {{- end }}\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// quoted returns a list in YAML in which all values are strings, with as few quotes as possible.
func quoted(values []string) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = yamlText(value)
	}
	return strings.Join(texts, ", ")
}

// tableOf returns the rules as a table for a README. The column for resources also contains paths of the API.
func tableOf(permissions *Permissions) string {
	var out strings.Builder
	out.WriteString("| where | resources | verbs | why |\n|---|---|---|---|\n")
	write := func(where string, rules []Rule) {
		for _, rule := range rules {
			var resources []string
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					if group != "" {
						resource += "." + group
					}
					resource = "`" + resource + "`"
					if len(rule.ResourceNames) > 0 {
						resource += " " + strings.Join(rule.ResourceNames, ", ")
					}
					resources = append(resources, resource)
				}
			}
			for _, path := range rule.NonResourceURLs {
				resources = append(resources, "`"+path+"`")
			}
			reason := rule.Reason
			if rule.Need != rights.NeedNothing {
				reason += ", if `rbac." + string(rule.Need) + "` is true"
			}
			fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", where, markdown(strings.Join(resources, ", ")), markdown(strings.Join(rule.Verbs, ", ")), markdown(reason))
		}
	}
	write("cluster", permissions.Cluster)
	write("its namespace", permissions.Namespace)
	return strings.TrimSuffix(out.String(), "\n")
}

// permissionsOf returns the permissions that an operator with these options needs.
func permissionsOf(options *Options, contents *Contents) *Permissions {
	permissions := &Permissions{}
	for _, purpose := range rights.OfOperator(schema.GroupResource{Group: options.GroupName, Resource: options.Resource}) {
		for _, needed := range purpose.Rules {
			rule := Rule{PolicyRule: needed, Reason: purpose.Text, Need: purpose.Need}
			if purpose.Home {
				permissions.Namespace = append(permissions.Namespace, rule)
				continue
			}
			permissions.Cluster = append(permissions.Cluster, rule)
		}
		if purpose.Need != rights.NeedNothing {
			permissions.Switches = append(permissions.Switches, Switch{
				Name: string(purpose.Need), Purpose: purpose.Text, On: slices.Contains(contents.Needs, purpose.Need),
			})
		}
	}
	if options.HelmOperator {
		permissions.Cluster = append(permissions.Cluster, Rule{
			PolicyRule: rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get", "list", "delete"}},
			Reason:     "Helm's records of releases, until these are taken over",
		})
	}
	for _, needed := range contents.Rules {
		permissions.Cluster = append(permissions.Cluster, contents.explain(needed)...)
	}
	return permissions
}

// explain divides a rule for dependents into rules with one reason each. A reason that ends with kinds gets those of all
// resources.
func (c *Contents) explain(rule rbacv1.PolicyRule) []Rule {
	var explained []Rule
	for _, resource := range rule.Resources {
		var all []string
		for _, group := range rule.APIGroups {
			all = append(all, c.Reasons[schema.GroupResource{Group: group, Resource: resource}]...)
		}
		reason := cmp.Or(strings.Join(all, "; "), "dependents")
		purpose, kind := reason, ""
		if colon := strings.LastIndex(reason, ": "); colon >= 0 {
			purpose, kind = reason[:colon+2], ", "+reason[colon+2:]
		}
		at := slices.IndexFunc(explained, func(other Rule) bool {
			return other.Reason == reason || kind != "" && strings.HasPrefix(other.Reason, purpose)
		})
		if at < 0 {
			of := rule
			of.Resources = nil
			explained, at = append(explained, Rule{PolicyRule: of, Reason: reason}), len(explained)
		} else {
			explained[at].Reason += kind
		}
		explained[at].Resources = append(explained[at].Resources, resource)
	}
	if len(rule.NonResourceURLs) > 0 {
		explained = append(explained, Rule{PolicyRule: rule, Reason: "handed on by roles"})
	}
	return explained
}

// Rendered describes what an operator renders.
type Rendered struct {
	// Generator renders the dependents. Required.
	Generator generator.Generator
	// OperatorName is the prefix of policy annotations. Required.
	OperatorName string
	// APIVersions are versions, or kinds in versions, that clusters may or may not serve, and that affect the
	// manifests. Default to none.
	APIVersions []string
	// LooksUp means that the manifests depend on objects in the cluster, which are unknown here.
	LooksUp bool
}

// example is the rendered component.
var example = apitypes.NamespacedName{Namespace: "default", Name: "example"}

// AddRights determines the rights that the operator needs for what it renders. Rendering the contents with their
// required values must succeed; failures with other values are only noted.
func (c *Contents) AddRights(ctx context.Context, source Rendered) error {
	given, files, templates := cmp.Or(c.Types, &values.Types{}), sets.New[string](), map[string]string{}
	ctx = helm.WithTemplates(ctx, func(file, text string) { templates[file] = text })
	ctx = helm.WithOrigins(ctx, func(_ client.Object, file string) { files.Insert(file) })
	objects, err := source.render(ctx, example, given.Sample, nil)
	if err != nil {
		return err
	}
	again, err := source.render(ctx, example, given.Sample, nil)
	if err != nil {
		return err
	}
	if err := c.addSeveral(ctx, source, objects); err != nil {
		return err
	}
	if c.Random = !reflect.DeepEqual(objects, again); c.Random {
		c.note("The chart's templates make other values with each rendering, such as passwords: " +
			"these change when the operator restarts, unless a template looks up what is there.")
	}
	if source.LooksUp {
		c.note("The chart's templates look up objects in the cluster; what they render only if such an object exists was not seen.")
	}
	objects = append(objects, c.vary(ctx, source, given)...)
	c.note(aggregationNotes(objects)...)
	written := c.written(templates, objects, files)
	needed, err := rights.Of(rights.Request{
		ReconcilerName: source.OperatorName, Objects: slices.Concat(objects, written), Everywhere: true, UpdatePolicy: types.UpdatePolicyReplace,
		Resolve: func(kind schema.GroupKind) (rights.Resource, error) {
			plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
			c.note(fmt.Sprintf("Nothing defines %s; its resource is taken to be %s, in namespaces.", kind, plural.Resource))
			return rights.Resource{GroupResource: plural.GroupResource(), Namespaced: true}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("computing the rights of the operator: %w", err)
	}
	c.Rules, c.Needs, c.Reasons = needed[""], needsOf(objects, source.OperatorName), reasonsOf(objects, "objects of the "+cmp.Or(c.Folder, "generator"))
	for _, object := range written {
		plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		c.Reasons[plural.GroupResource()] = append(c.Reasons[plural.GroupResource()], "written in "+object.GetName())
	}
	return nil
}

// vary returns the objects that are rendered with other values than those of the sample, and notes with which values
// nothing can be rendered.
func (c *Contents) vary(ctx context.Context, source Rendered, given *values.Types) []*unstructured.Unstructured {
	variations, left := variationsOf(given, source.APIVersions)
	if left > 0 {
		c.note(fmt.Sprintf("There are too many values: %d of them were not varied.", left))
	}
	var objects []*unstructured.Unstructured
	failed := map[string][]string{} // variations, by their error
	for _, variation := range variations {
		more, err := source.render(ctx, example, manifests.MergeMaps(given.Sample, variation.values), variation.apiVersions)
		if err != nil && !variation.invented {
			failed[err.Error()] = append(failed[err.Error()], variation.text)
		}
		objects = append(objects, more...)
	}
	for _, reason := range slices.Sorted(maps.Keys(failed)) {
		c.note(fmt.Sprintf("Chart %s cannot be rendered with %s: %s. Permissions for what it renders only then may be missing, and types of values that it uses only then.",
			c.Name, strings.Join(failed[reason], ", "), strings.TrimSuffix(reason, ".")))
	}
	return objects
}

// addSeveral finds out how many components can exist side by side, given the objects of the example.
func (c *Contents) addSeveral(ctx context.Context, source Rendered, objects []*unstructured.Unstructured) error {
	first, given := keysOf(objects, example.Namespace), cmp.Or(c.Types, &values.Types{})
	for _, row := range []struct {
		other   apitypes.NamespacedName
		several Several
		where   string
	}{
		{apitypes.NamespacedName{Namespace: "elsewhere", Name: "another"}, OnePerCluster, "in the cluster"},
		{apitypes.NamespacedName{Namespace: example.Namespace, Name: "another"}, OnePerNamespace, "in a namespace"},
	} {
		others, err := source.render(ctx, row.other, given.Sample, nil)
		if err != nil {
			return err
		}
		if shared := first.Intersection(keysOf(others, row.other.Namespace)); len(shared) > 0 {
			names, unless := sets.List(shared), "values give these objects other names or leave them out"
			renamed, paths := renaming(names, given.Defaults)
			others, err := source.render(ctx, row.other, manifests.MergeMaps(given.Sample, renamed), nil)
			if err == nil && len(first.Intersection(keysOf(others, row.other.Namespace))) == 0 {
				unless = "each has its own " + strings.Join(paths, ", ")
			}
			if more := len(names) - 3; more > 0 {
				names = append(names[:3], fmt.Sprintf("%d more", more))
			}
			c.Several = row.several
			all := strings.ReplaceAll(strings.Join(names, ", "), " "+example.Namespace+"/", " ")
			c.note(fmt.Sprintf("Only one component can exist %s, because all have %s, unless %s.", row.where, all, unless))
			return nil
		}
	}
	return nil
}

// renaming returns values with which objects may have other names, and their paths.
func renaming(objects []string, defaults map[string]any) (renamed map[string]any, paths []string) {
	renamed = map[string]any{}
	values.Walk(defaults, nil, func(path []string, value any) bool {
		if name, isText := value.(string); isText && slices.ContainsFunc(objects, func(object string) bool { return strings.HasSuffix(strings.ReplaceAll(object, " ", "/"), "/"+name) }) {
			manifests.MergeMapInto(renamed, values.At(path, name+"-2"))
			paths = append(paths, strings.Join(path, "."))
		}
		return true
	})
	return renamed, paths
}

// keysOf returns the names of objects. Those without a namespace count as being in the given one, unless their type is
// known to have none.
func keysOf(objects []*unstructured.Unstructured, namespace string) sets.Set[string] {
	keys := sets.New[string]()
	for _, object := range objects {
		in := cmp.Or(object.GetNamespace(), namespace)
		if rights.IsClusterScoped(object.GetKind()) {
			in = ""
		}
		keys.Insert(types.ObjectText(object.GroupVersionKind().GroupKind(), in, object.GetName()))
	}
	return keys
}

// reasonsOf returns for what the operator needs rights on resources: last, for what they are.
func reasonsOf(objects []*unstructured.Unstructured, of string) map[schema.GroupResource][]string {
	reasons := map[schema.GroupResource][]string{}
	add := func(group, resource, reason string) {
		key := schema.GroupResource{Group: group, Resource: resource}
		if !slices.Contains(reasons[key], reason) {
			reasons[key] = append(reasons[key], reason)
		}
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "Role", "ClusterRole":
			role := &rbacv1.ClusterRole{} // a Role has the same fields
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
				continue // rights.Of refuses it
			}
			for _, rule := range role.Rules {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						add(group, resource, "handed on by "+object.GetKind()+" "+object.GetName())
					}
				}
			}
		case "CustomResourceDefinition":
			group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
			resource, _, _ := unstructured.NestedString(object.Object, "spec", "names", "plural")
			add(group, resource, "instances block the deletion of their CustomResourceDefinition")
			for _, resource := range []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"} {
				add("admissionregistration.k8s.io", resource, barrierReason)
			}
			add("", "configmaps", barrierReason)
		}
	}
	for _, object := range objects {
		plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		add(plural.Group, plural.Resource, of+": "+object.GetKind())
	}
	return reasons
}

const barrierReason = "barrier while a CustomResourceDefinition is deleted"

// note adds new notes, each as a single line.
func (c *Contents) note(notes ...string) {
	for _, note := range notes {
		if note = oneLine(note); !slices.Contains(c.Notes, note) {
			c.Notes = append(c.Notes, note)
		}
	}
}

// needsOf returns the uses of the operator that the objects require.
func needsOf(objects []*unstructured.Unstructured, operatorName string) []rights.Need {
	var hooks, elsewhere bool
	var created []string
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			created = append(created, object.GetName())
		}
	}
	for _, object := range objects {
		_, isHook := object.GetAnnotations()[operatorName+"/"+types.AnnotationKeySuffixDeletionHook]
		hooks = hooks || isHook
		in := object.GetNamespace()
		elsewhere = elsewhere || in != "" && in != example.Namespace && !slices.Contains(created, in)
	}
	var needs []rights.Need
	if hooks {
		needs = append(needs, rights.NeedDeletionHooks)
	}
	if elsewhere {
		needs = append(needs, rights.NeedNamespaces)
	}
	return needs
}

// render calls the generator like a reconciler does, first for a new component and then for an installed one.
func (r Rendered) render(ctx context.Context, component apitypes.NamespacedName, values map[string]any, apiVersions []string) ([]*unstructured.Unstructured, error) {
	scheme, err := clients.NewScheme()
	if err != nil {
		return nil, err
	}
	clnt, err := rights.NewOfflineClient(rights.OfflineOptions{Scheme: scheme, APIVersions: apiVersions})
	if err != nil {
		return nil, err
	}
	var result []*unstructured.Unstructured
	examples, err := secrets.New(make([]byte, secrets.SeedSize), time.Now(), time.Now())
	if err != nil {
		return nil, err
	}
	for revision, installed := range []bool{false, true} {
		rendering := generator.NewContext(ctx, generator.Surroundings{
			ReconcilerName: r.OperatorName, LocalClient: clnt, Client: clnt, ComponentName: component.Name, ComponentNamespace: component.Namespace,
			ComponentDigest: strings.Repeat("0", 64), ComponentRevision: int64(revision + 1), Installed: installed, Secrets: examples,
		})
		objects, err := r.Generator.Generate(rendering, component.Namespace, component.Name, types.UnstructurableMap(values))
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			converted, err := clients.ToUnstructured(object, scheme)
			if err != nil {
				return nil, err
			}
			result = append(result, converted)
		}
	}
	return result, nil
}

// aggregationNotes returns notes about the cluster roles that collect the rules of others. The API server lets a user
// write and bind such a role only with all existing rights, or with the verbs escalate and bind. The names of the roles
// are unknown beforehand, and these verbs for any role are as powerful as an administrator.
func aggregationNotes(objects []*unstructured.Unstructured) []string {
	var notes []string
	for _, object := range objects {
		kind := object.GroupVersionKind().GroupKind()
		if _, aggregated := object.Object["aggregationRule"]; !aggregated || kind != (schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRole"}) {
			continue
		}
		notes = append(notes, fmt.Sprintf("%s collects the rules of other roles. To write and bind it, the operator needs the verbs escalate and bind for clusterroles, "+
			"which allow everything: they are left to rbac.additionalRules.", types.ObjectText(kind, "", object.GetName())))
	}
	return notes
}
