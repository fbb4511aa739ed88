// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/rights"
)

// permissionsOf returns what an operator with these options needs.
func permissionsOf(options *Options, contents *Contents) *Permissions {
	permissions := &Permissions{Notes: contents.Notes}
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
