// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/inventory"
)

func TestTiers(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][2]int{ // apply, delete
		"Namespace": {-4, 3},
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io": {-3, 1},
		"MutatingWebhookConfiguration.admissionregistration.k8s.io":   {-3, 1},
		"CustomResourceDefinition.apiextensions.k8s.io":               {-2, -1},
		"IngressClass.networking.k8s.io":                              {-2, 4},
		"RuntimeClass.node.k8s.io":                                    {-2, 4},
		"PriorityClass.scheduling.k8s.io":                             {-2, 4},
		"StorageClass.storage.k8s.io":                                 {-2, 4},
		"ClusterRole.rbac.authorization.k8s.io":                       {-2, 0},
		"Role.rbac.authorization.k8s.io":                              {-2, 0},
		"ServiceAccount":                                              {-1, 0},
		"LimitRange":                                                  {-2, 0},
		"ResourceQuota":                                               {-2, 0},
		"PersistentVolume":                                            {-2, 0},
		"PersistentVolumeClaim":                                       {-1, 0},
		"NetworkPolicy.networking.k8s.io":                             {-1, 2},
		"PodDisruptionBudget.policy":                                  {-1, 0},
		"ConfigMap":                                                   {-1, 2},
		"Secret":                                                      {-1, 2},
		"ClusterRoleBinding.rbac.authorization.k8s.io":                {-1, 0},
		"RoleBinding.rbac.authorization.k8s.io":                       {-1, 0},
		"Service":                                                     {-1, 2},
		"Deployment.apps":                                             {0, 0},
		"APIService.apiregistration.k8s.io":                           {0, -1}, // late by its stage
		"Namespace.example.com":                                       {0, 0},  // of the same name in another group
		"Secret.example.com":                                          {0, 0},
		"Service.serving.knative.dev":                                 {0, 0},
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io":      {0, 0},
	} {
		parsed := schema.ParseGroupKind(kind)
		if got := [2]int{ApplyTier(parsed, true), DeleteTier(parsed)}; got != want {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
		if last := ApplyTier(parsed, false) == TierLast; last != IsWebhookConfiguration(parsed) {
			t.Errorf("%s: comes last if it does not exist: %v", kind, last)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, pattern, group string
		want                   bool
	}{
		{"exact", "apps", "apps", true},
		{"the core group", "", "", true},
		{"any", "*", "apps", true},
		{"any, the core group included", "*", "", true},
		{"one label", "*.example.com", "a.example.com", true},
		{"more labels", "*.example.com", "b.a.example.com", true},
		{"no label", "*.example.com", "example.com", false},
		{"an empty label", "*.example.com", ".example.com", false},
		{"part of a label", "*.example.com", "badexample.com", false},
		{"an asterisk elsewhere", "a.*", "a.b", false},
		{"two asterisks", "*.*", "a.b", false},
	} {
		if got := MatchesGroup(tc.pattern, tc.group); got != tc.want {
			t.Errorf("%s: pattern %q, group %q: got %v", tc.reason, tc.pattern, tc.group, got)
		}
	}
	gvk := schema.GroupVersionKind{Group: "a.example.com", Version: "v1", Kind: "Widget"}
	for _, tc := range []struct {
		pattern inventory.TypeVersionInfo
		want    bool
	}{
		{inventory.TypeVersionInfo{Group: "a.example.com", Version: "v1", Kind: "Widget"}, true},
		{inventory.TypeVersionInfo{Group: "*.example.com", Version: "*", Kind: "*"}, true},
		{inventory.TypeVersionInfo{Group: "*", Version: "v1", Kind: "*"}, true},
		{inventory.TypeVersionInfo{Group: "*", Version: "v2", Kind: "*"}, false},
		{inventory.TypeVersionInfo{Group: "*", Version: "v*", Kind: "*"}, false},
		{inventory.TypeVersionInfo{Group: "*", Version: "*", Kind: "Wid*"}, false},
		{inventory.TypeVersionInfo{Group: "*", Version: "*", Kind: "widget"}, false},
		{inventory.TypeVersionInfo{Group: "b.example.com", Version: "*", Kind: "*"}, false},
		{inventory.TypeVersionInfo{}, false},
	} {
		if got := Matches(tc.pattern, gvk); got != tc.want {
			t.Errorf("%+v: got %v", tc.pattern, got)
		}
		if kind := (inventory.TypeInfo{Group: tc.pattern.Group, Kind: tc.pattern.Kind}); tc.want && !MatchesKind(kind, gvk.GroupKind()) {
			t.Errorf("%+v: expected a match", kind)
		}
	}
}

func TestManagedTypes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, apiVersion, kind string
		spec                     any
		want                     []inventory.TypeVersionInfo
	}{
		{"a definition brings a kind in all versions", "apiextensions.k8s.io/v1", "CustomResourceDefinition", map[string]any{"group": "g", "names": map[string]any{"kind": "K"}, "versions": []any{}}, []inventory.TypeVersionInfo{{Group: "g", Version: "*", Kind: "K"}}},
		{"an APIService brings all kinds of a version", "apiregistration.k8s.io/v1", "APIService", map[string]any{"group": "g", "version": "v1"}, []inventory.TypeVersionInfo{{Group: "g", Version: "v1", Kind: "*"}}},
		{"nothing else does", "v1", "ConfigMap", map[string]any{"group": "g"}, nil},
		{"nor a namesake", "example.com/v1", "CustomResourceDefinition", map[string]any{"group": "g"}, nil},
		{"a definition that is none must not crash", "apiextensions.k8s.io/v1", "CustomResourceDefinition", "nonsense", []inventory.TypeVersionInfo{{Group: "", Version: "*", Kind: ""}}},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": tc.apiVersion, "kind": tc.kind, "metadata": map[string]any{"name": "x"}, "spec": tc.spec}}
		if diff := cmp.Diff(tc.want, ManagedTypesOf(object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}
