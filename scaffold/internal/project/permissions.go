// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// A Rule is something that the operator may do.
type Rule struct {
	rbacv1.PolicyRule
	// Reason says what for.
	Reason string
}

// Permissions are what the operator may do.
type Permissions struct {
	// Cluster are rules for all namespaces and cluster-scoped objects, Namespace those for the namespace of the operator.
	Cluster, Namespace []Rule
	// Notes say what could not be known.
	Notes []string
}

// yamlOf returns the rules as items of a role in a chart, each below its reason.
func yamlOf(rules []Rule) string {
	var out strings.Builder
	for _, rule := range rules {
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
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// quoted lists values so that YAML takes them for text, and readers find as few quotes as possible.
func quoted(values []string) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = value
		if value == "" || strings.ContainsAny(value, `*:{}[],&#?|<>=!%@"'\`+"`") {
			texts[i] = fmt.Sprintf("%q", value)
		}
	}
	return strings.Join(texts, ", ")
}

// tableOf returns the rules as a table for a README.
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
					resources = append(resources, "`"+resource+"`")
				}
			}
			fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", where, strings.Join(resources, ", "), strings.Join(rule.Verbs, ", "), rule.Reason)
		}
	}
	write("cluster", permissions.Cluster)
	write("its namespace", permissions.Namespace)
	return strings.TrimSuffix(out.String(), "\n")
}
