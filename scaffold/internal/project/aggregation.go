// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/types"
)

// aggregationNotes names the cluster roles that collect the rules of others. The API server lets only those write and
// bind such a role who have all rights that there are, or may escalate and bind; the names of the roles are not known
// beforehand, and for any role these are the rights of an administrator.
func aggregationNotes(objects []*unstructured.Unstructured) []string {
	var notes []string
	for _, object := range objects {
		kind := object.GroupVersionKind().GroupKind()
		if _, aggregated := object.Object["aggregationRule"]; !aggregated || kind != (schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRole"}) {
			continue
		}
		note := fmt.Sprintf("%s collects the rules of other roles. To write and bind it, the operator needs the verbs escalate and bind for clusterroles, "+
			"which allow everything: they are left to rbac.additionalRules.", types.ObjectText(kind, "", object.GetName()))
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}
