// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/component-operator/runtime/internal/rights"
)

// A Rule is something that the operator may do.
type Rule struct {
	rbacv1.PolicyRule
	// Reason says what for.
	Reason string
	// Need says when; its text is the name of a value of the chart.
	Need rights.Need
}

// A Switch is a value of the operator's chart that gives the operator rights.
type Switch struct {
	// Name is that of the value, below rbac.
	Name string
	// Purpose says what the rights are for.
	Purpose string
	// On is the default.
	On bool
}

// Permissions are what the operator may do.
type Permissions struct {
	// Cluster are rules for all namespaces and cluster-scoped objects, Namespace those for the namespace of the
	// operator.
	Cluster, Namespace []Rule
	// Switches are for rules that not every operator needs.
	Switches []Switch
	// Notes say what could not be known.
	Notes []string
}

// yamlOf returns the rules as items of a role in a chart, each below its reason.
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

// quoted lists values so that YAML takes them for text, and readers find as few quotes as possible.
func quoted(values []string) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = yamlText(value)
	}
	return strings.Join(texts, ", ")
}

// tableOf returns the rules as a table for a README. Paths of the API are among the resources.
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
