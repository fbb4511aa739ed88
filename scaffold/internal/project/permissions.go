// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/clients"
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
		fmt.Fprintf(&out, "  # %s\n", rule.Reason)
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
	for _, needed := range contents.Rules {
		permissions.Cluster = append(permissions.Cluster, Rule{PolicyRule: needed, Reason: "dependents"})
	}
	return permissions
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

// namespace and name of the rendered component.
const (
	exampleNamespace = "default"
	exampleName      = "example"
)

// AddRights determines the rights that the operator needs for what it renders. Rendering the contents with their
// required values must succeed; failures with other values are only noted.
func (c *Contents) AddRights(ctx context.Context, source Rendered) error {
	given := cmp.Or(c.Types, &values.Types{})
	objects, err := renderFor(ctx, source, given.Sample, nil)
	if err != nil {
		return err
	}
	again, err := renderFor(ctx, source, given.Sample, nil)
	if err != nil {
		return err
	}
	if c.Random = !reflect.DeepEqual(objects, again); c.Random {
		c.note("Its templates make other values with each rendering, such as passwords: " +
			"these change when the operator restarts, unless a template looks up what is there.")
	}
	if source.LooksUp {
		c.note("Its templates look up objects in the cluster; what they render only if such an object exists was not seen.")
	}
	variations, left := variationsOf(given, source.APIVersions)
	if left > 0 {
		c.note(fmt.Sprintf("There are too many values: %d of them were not varied.", left))
	}
	for _, variation := range variations {
		more, err := renderFor(ctx, source, manifests.MergeMaps(given.Sample, variation.values), variation.apiVersions)
		if err != nil && !variation.invented {
			c.note(fmt.Sprintf("It cannot be rendered with %s: %v.", variation.text, err))
		}
		objects = append(objects, more...)
	}
	c.note(aggregationNotes(objects)...)
	needed, err := rights.Of(rights.Request{
		ReconcilerName: source.OperatorName, Objects: objects, Everywhere: true, UpdatePolicy: types.UpdatePolicyReplace,
		Resolve: func(kind schema.GroupKind) (rights.Resource, error) {
			plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
			c.note(fmt.Sprintf("Nothing defines %s; its resource is taken to be %s, in namespaces.", kind, plural.Resource))
			return rights.Resource{GroupResource: plural.GroupResource(), Namespaced: true}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("computing the rights of the operator: %w", err)
	}
	c.Rules, c.Needs = needed[""], needsOf(objects, source.OperatorName)
	return nil
}

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
		elsewhere = elsewhere || in != "" && in != exampleNamespace && !slices.Contains(created, in)
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

// renderFor calls the generator like a reconciler does, first for a new component and then for an installed one.
func renderFor(ctx context.Context, source Rendered, values map[string]any, apiVersions []string) ([]*unstructured.Unstructured, error) {
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
			ReconcilerName: source.OperatorName, LocalClient: clnt, Client: clnt, ComponentName: exampleName, ComponentNamespace: exampleNamespace,
			ComponentDigest: strings.Repeat("0", 64), ComponentRevision: int64(revision + 1), Installed: installed, Secrets: examples,
		})
		objects, err := source.Generator.Generate(rendering, exampleNamespace, exampleName, types.UnstructurableMap(values))
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
