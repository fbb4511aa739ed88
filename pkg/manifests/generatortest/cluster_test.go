// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/generator"
)

// TestContext: the generator finds in the context what a reconciler puts there.
func TestContext(t *testing.T) {
	t.Parallel()
	given := configMap("given", nil)
	given.Namespace = "there"
	custom := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "there"}}}
	var got []string
	suite := suiteOf(t, func(ctx context.Context, _ map[string]any) ([]client.Object, error) {
		clnt, err := generator.ClientFromContext(ctx)
		if err != nil {
			return nil, err
		}
		discovery, err := generator.DiscoveryFromContext(ctx)
		if err != nil {
			return nil, err
		}
		revision, _ := generator.ComponentRevisionFromContext(ctx)
		installed, _ := generator.InstalledFromContext(ctx)
		name, _ := generator.ComponentNameFromContext(ctx)
		namespace, _ := generator.ComponentNamespaceFromContext(ctx)
		reconciler, _ := generator.ReconcilerNameFromContext(ctx)
		digest, err := generator.ComponentDigestFromContext(ctx)
		got = []string{fmt.Sprintf("%d %t %s %s %s %d %v", revision, installed, name, namespace, reconciler, len(digest), err), discovery.Version.GitVersion}
		for _, version := range []string{"v1", "apps/v1beta1", "example.com/v1"} {
			got = append(got, fmt.Sprint(version, " ", slices.Contains(discovery.GroupVersions, version)))
		}
		widget := custom.DeepCopy()
		got = append(got,
			fmt.Sprint("configmap ", clnt.Get(ctx, client.ObjectKeyFromObject(given), given.DeepCopy())),
			fmt.Sprint("widget ", clnt.Get(ctx, client.ObjectKeyFromObject(widget), widget)),
			fmt.Sprint("missing ", client.IgnoreNotFound(clnt.Get(ctx, client.ObjectKey{Namespace: "x", Name: "y"}, given.DeepCopy()))))
		return nil, nil
	})
	problems := suite.examine(t.Context(), Case{
		Name: "a", Namespace: "ns", ComponentName: "shop", Revision: 3, Installed: true, KubernetesVersion: "v1.35.1",
		APIVersions: []string{"example.com/v1/Widget"}, Objects: []client.Object{given, custom},
	}.withDefaults(), true)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []string{
		"3 true shop ns demo.example.io 64 <nil>", "v1.35.1",
		"v1 true", "apps/v1beta1 false", "example.com/v1 true",
		"configmap <nil>", "widget <nil>", "missing <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
