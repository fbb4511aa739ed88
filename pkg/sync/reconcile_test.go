// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sync"
)

// scopes is a ResourceInfoProvider that does not know types of example.com.
type scopes struct{}

func (scopes) IsNamespaced(kind schema.GroupKind) (bool, error) {
	if kind.Group == "example.com" {
		return false, errors.New("the API does not answer")
	}
	return kind.Kind != "Namespace" && kind.Kind != "ClusterRole", nil
}

// object returns an object of a test; extra is more metadata.
func object(apiVersion, kind, namespace, name, extra string) string {
	return fmt.Sprintf("\n---\napiVersion: %s\nkind: %s\nmetadata: {namespace: %q, name: %q%s}\n", apiVersion, kind, namespace, name, extra)
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	hook := func(name, value string) string {
		return object("v1", "Pod", "", name, `, annotations: {`+hookAnnotation+`: "`+value+`"}`)
	}
	for _, tc := range []struct {
		reason, targets, live string
		want                  []string // target=live
		hooks                 []string
	}{
		{"nothing", "", "", nil, nil},
		{"one to be created", object("v1", "ConfigMap", "", "a", ""), "", []string{"a="}, nil},
		{"one that is not declared", "", object("v1", "ConfigMap", "n", "a", ""), []string{"=a"}, nil},
		{"the namespace of the operation", object("v1", "ConfigMap", "", "a", ""), object("v1", "ConfigMap", "n", "a", ", uid: x"), []string{"a=a"}, nil},
		{"another namespace", object("v1", "ConfigMap", "m", "a", ""), object("v1", "ConfigMap", "n", "a", ""), []string{"a=", "=a"}, nil},
		{"a namespace where none belongs", object("v1", "Namespace", "n", "a", ""), object("v1", "Namespace", "", "a", ""), []string{"a=a"}, nil},
		{"another version", object("apps/v1", "Deployment", "", "a", ""), object("apps/v1beta1", "Deployment", "n", "a", ""), []string{"a=a"}, nil},
		{"another group", object("apps/v1", "Deployment", "", "a", ""), object("extensions/v1beta1", "Deployment", "n", "a", ""), []string{"a=", "=a"}, nil},
		{"unknown scope, in a namespace", object("example.com/v1", "Thing", "", "a", ""), object("example.com/v1", "Thing", "n", "a", ""), []string{"a=a"}, nil},
		{"unknown scope, in no namespace", object("example.com/v1", "Thing", "", "a", ""), object("example.com/v1", "Thing", "", "a", ""), []string{"a=a"}, nil},
		{
			"one object in two groups, of which one is declared", object("networking.k8s.io/v1", "Ingress", "", "a", ""),
			object("extensions/v1beta1", "Ingress", "n", "a", ", uid: x") + object("networking.k8s.io/v1", "Ingress", "n", "a", ", uid: x"),
			[]string{"a=a"},
			nil,
		},
		{"one object in two groups, of which none is declared", "", object("extensions/v1beta1", "Ingress", "n", "a", ", uid: x") + object("networking.k8s.io/v1", "Ingress", "n", "a", ", uid: x"), []string{"=a"}, nil},
		{"hooks", hook("a", "PreSync") + hook("b", "Sync,PostSync") + hook("c", "SyncFail"), "", nil, []string{"a", "b", "c"}},
		{"what no operation applies", hook("a", "Skip") + hook("b", "PreDelete") + hook("c", "PostDelete"), "", []string{"a=", "b=", "c="}, nil},
		{"what no operation applies, and exists", hook("a", "Skip") + hook("b", "PreDelete"), object("v1", "Pod", "n", "a", "") + object("v1", "Pod", "n", "b", ""), []string{"a=a", "b=b"}, nil},
		{"a phase that is skipped", hook("a", "Skip,PreSync"), "", nil, []string{"a"}},
		{"a hook that is not valid", hook("a", "Sometime"), "", nil, []string{"a"}},
		{"hooks of Helm", strings.ReplaceAll(hook("a", "pre-install")+hook("b", "test")+hook("c", "crd-install"), hookAnnotation, "helm.sh/hook"), "", []string{"b=", "c="}, []string{"a"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			live := map[sync.ResourceKey]*unstructured.Unstructured{}
			for _, each := range testenv.Objects(t, tc.live) {
				live[sync.GetResourceKey(each)] = each
			}
			before := len(live)
			result := sync.Reconcile(testenv.Objects(t, tc.targets), live, "n", scopes{})
			var pairs, hooks []string
			for i := range result.Target {
				pair := []string{"", ""}
				for j, each := range []*unstructured.Unstructured{result.Target[i], result.Live[i]} {
					if each != nil {
						pair[j] = each.GetName()
					}
				}
				pairs = append(pairs, strings.Join(pair, "="))
			}
			for _, each := range result.Hooks {
				hooks = append(hooks, each.GetName())
			}
			if diff := cmp.Diff([][]string{tc.want, tc.hooks}, [][]string{pairs, hooks}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(live) != before {
				t.Error("the map has changed")
			}
		})
	}
}

func TestResourceKey(t *testing.T) {
	t.Parallel()
	each := testenv.Object(t, object("apps/v1", "Deployment", "n", "a", ", uid: x"))
	key := sync.GetResourceKey(each)
	if key != sync.NewResourceKey("apps", "Deployment", "n", "a") || key.String() != "apps/Deployment/n/a" || key.GroupKind().String() != "Deployment.apps" || each.GetUID() != apitypes.UID("x") {
		t.Errorf("got %s", key)
	}
}
