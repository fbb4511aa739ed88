// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/scaffold/internal/project"
)

const aggregated = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Release.Name }}-admin
aggregationRule:
  clusterRoleSelectors:
  - matchLabels: {to: {{ .Release.Name }}}
`

// TestAggregatedRoles checks that the note on an aggregated role is right: the operator may not write it with the rules
// that are computed, and may with what the note names.
func TestAggregatedRoles(t *testing.T) {
	t.Parallel()
	chart := fstest.MapFS{
		"chart/Chart.yaml":         {Data: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n")},
		"chart/templates/all.yaml": {Data: []byte(aggregated)},
	}
	generator, err := helm.New(chart, "chart", helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result := &project.Contents{}
	if err := result.AddRights(t.Context(), project.Rendered{Generator: generator, OperatorName: "shop.example.org"}); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(result.Notes, func(note string) bool {
		return strings.Contains(note, "ClusterRole example-admin") && strings.Contains(note, "escalate and bind") && strings.Contains(note, "rbac.additionalRules")
	}) {
		t.Errorf("no note names the role: %q", result.Notes)
	}
	name := testenv.UniqueName(t)
	// The API server learns of new roles with a delay.
	computed := writer(t, name+"-1", result.Rules)
	testenv.Eventually(t, func() (bool, string) {
		err := computed()
		return err != nil && strings.Contains(err.Error(), "must have cluster-admin privileges to use the aggregationRule"), fmt.Sprintf("with the computed rules: %v", err)
	})
	named := writer(t, name+"-2", append(slices.Clone(result.Rules),
		rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"escalate"}}))
	testenv.Eventually(t, func() (bool, string) {
		err := named()
		return err == nil, fmt.Sprintf("with the verb that the note names: %v", err)
	})
}

// writer returns a function that creates, without storing it, an aggregated role as a user with rules.
func writer(t *testing.T, name string, rules []rbacv1.PolicyRule) func() error {
	t.Helper()
	admin := testenv.Client(t)
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		},
	} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := admin.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
	}
	config := rest.CopyConfig(testenv.Config(t))
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	user, err := client.New(config, client.Options{Scheme: testenv.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name + "-admin"}, AggregationRule: &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"to": name}}},
	}}
	return func() error { return user.Create(t.Context(), role.DeepCopy(), client.DryRunAll) }
}
