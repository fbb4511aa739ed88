// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import "slices"

// capability is a spec of package component that the spec of a component may embed.
type capability struct {
	// Type is the name of the spec.
	Type string
	// Line says what it does.
	Line string
	// TypedLine says what it does if the dependents are typed resources. Defaults to Line.
	TypedLine string
	// Fields are the JSON names of its fields.
	Fields []string
	// Embedded reports whether it is on from the start. It is if its fields steer nothing but the reconciliation of the
	// component itself.
	Embedded bool
}

// capabilities are all that component offers. A test compares them with that package.
var capabilities = []capability{
	{
		Type: "SuspensionSpec", Fields: []string{"suspend"}, Embedded: true, Line: "users can suspend the component.",
		TypedLine: "users can suspend a component: its dependents are scaled down.",
	},
	{
		Type: "PresenceSpec", Fields: []string{"presence"},
		Line:      "users can suspend a component (its dependents are left alone, and run on), pause it (it shows what would be done), or archive it (its dependents are deleted).",
		TypedLine: "users can suspend a component (its dependents are scaled down), pause it (it shows what would be done), or archive it (its dependents are deleted).",
	},
	{Type: "RequeueSpec", Fields: []string{"requeueInterval"}, Embedded: true, Line: "users can choose how often a ready component is reconciled without an event."},
	{Type: "RetrySpec", Fields: []string{"retryInterval"}, Embedded: true, Line: "users can choose how long to wait before a retry."},
	{Type: "TimeoutSpec", Fields: []string{"timeout"}, Embedded: true, Line: "users can choose the time within which the component should become ready."},
	{Type: "ReapplySpec", Fields: []string{"reapplyInterval"}, Embedded: true, Line: "users can choose how often dependents are applied again without a change."},
	{
		Type: "PlacementSpec", Fields: []string{"namespace", "name"},
		Line: "users can choose the namespace and the name for the dependents; needs rbac.namespaces in chart/values.yaml.",
	},
	{Type: "ClientSpec", Fields: []string{"kubeConfig"}, Line: "users can deploy to another cluster; needs rbac.references in chart/values.yaml."},
	{
		Type: "ImpersonationSpec", Fields: []string{"serviceAccountName"},
		Line: "users can have the dependents written with the permissions of a ServiceAccount; needs rbac.impersonation in chart/values.yaml.",
	},
	{
		Type: "PolicySpec", Fields: []string{"adoptionPolicy", "updatePolicy", "deletePolicy", "missingNamespacesPolicy"},
		Line: "users can override the policies of the operator for adoption, updates, deletion and missing namespaces.",
	},
	{Type: "ReconcileSpec", Fields: []string{"reconcilePolicy"}, Line: "users can choose which changes apply the dependents again."},
	{Type: "DriftSpec", Fields: []string{"driftPolicy"}, Line: "users can choose what happens if other clients change dependents."},
	{Type: "DeletionSpec", Fields: []string{"maxDeletions"}, Line: "users can choose how many dependents may be deleted at once without approval."},
	{Type: "TypeSpec", Fields: []string{"additionalManagedTypes"}, Line: "users can name further types whose instances block the deletion of the component."},
}

// capabilitiesOf returns all capabilities, as they are with a kind of generator.
func capabilitiesOf(generator GeneratorKind) []capability {
	result := slices.Clone(capabilities)
	for i, capability := range result {
		if generator == GeneratorResources && capability.TypedLine != "" {
			result[i].Line = capability.TypedLine
		}
	}
	return result
}
