// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/types"
)

const releaseTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: release
data:
  release: {{ .Release | toJson | quote }}
  version: {{ .Capabilities.KubeVersion.Version }}
  given: {{ .Values.given | quote }}
`

var releaseChart = chartWith(map[string]string{"templates/a.yaml": releaseTemplate, "values.yaml": "given: default\n"})

func TestRelease(t *testing.T) {
	t.Parallel()
	for s, want := range map[state]string{
		{1, false}: `{"IsInstall":true,"IsUpgrade":false,"Name":"web","Namespace":"shop","Revision":1,"Service":"Helm"}`,
		{2, false}: `{"IsInstall":true,"IsUpgrade":false,"Name":"web","Namespace":"shop","Revision":2,"Service":"Helm"}`,
		{2, true}:  `{"IsInstall":false,"IsUpgrade":true,"Name":"web","Namespace":"shop","Revision":2,"Service":"Helm"}`,
		{1, true}:  `{"IsInstall":true,"IsUpgrade":false,"Name":"web","Namespace":"shop","Revision":1,"Service":"Helm"}`,
	} {
		objects, err := generate(t, releaseChart, s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"release": want, "version": "v1.36.3", "given": "default"}, objects[0].Object["data"]); diff != "" {
			t.Errorf("%+v: unexpected data (-want +got):\n%s", s, diff)
		}
		if got := objects[0].GetNamespace(); got != "" {
			t.Errorf("got namespace %q, although the template has none", got)
		}
	}
}

// parameterFunc and objectFunc are transformers.
type parameterFunc func(types.Unstructurable) (types.Unstructurable, error)

func (f parameterFunc) TransformParameters(_ string, _ string, parameters types.Unstructurable) (types.Unstructurable, error) {
	return f(parameters)
}

type objectFunc func([]client.Object) ([]client.Object, error)

func (f objectFunc) TransformObjects(_ string, _ string, objects []client.Object) ([]client.Object, error) {
	return f(objects)
}

func TestOnlyLookupsCountAsClusterReads(t *testing.T) {
	t.Parallel()
	reader := fake.NewClientBuilder().Build()
	target := cluster.NewClient(reader, targetClient().DiscoveryClient(), nil, nil, nil)
	for template, want := range map[string]bool{
		releaseTemplate: false,
		`{{ if .Values.given }}{{ end }}{{ .Capabilities.APIVersions.Has "apps/v1" | toString | printf "# %s" }}`: false,
		`# {{ lookup "v1" "ConfigMap" "shop" "none" }}`:                                                           true,
		`{{ if false }}# {{ lookup "v1" "ConfigMap" "shop" "none" }}{{ end }}`:                                    false,
	} {
		generator, err := helm.New(chartWith(map[string]string{"templates/a.yaml": template}), ".", helm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, reads := generating.TrackClusterReads(generating.Client.With(state{1, false}.context(t.Context()), target))
		if _, err := generator.Generate(ctx, "shop", "web", nil); err != nil {
			t.Fatal(err)
		}
		if reads.Any() != want {
			t.Errorf("%s: got %t, want %t", template, reads.Any(), want)
		}
	}
}

// TestDeprecatedConstructors: transformers that are given to them run.
func TestDeprecatedConstructors(t *testing.T) {
	t.Parallel()
	setGiven := parameterFunc(func(types.Unstructurable) (types.Unstructurable, error) {
		return types.UnstructurableMap{"given": "transformed"}, nil
	})
	setName := objectFunc(func(objects []client.Object) ([]client.Object, error) {
		objects[0].SetName("transformed")
		return objects, nil
	})
	withParameters, err := helm.NewHelmGeneratorWithParameterTransformer(releaseChart, ".", nil, setGiven)
	if err != nil {
		t.Fatal(err)
	}
	withObjects, err := helm.NewHelmGeneratorWithObjectTransformer(releaseChart, ".", nil, setName)
	if err != nil {
		t.Fatal(err)
	}
	for generator, want := range map[manifests.Generator]string{withParameters: "release transformed", withObjects: "transformed default"} {
		objects, err := generator.Generate(state{1, false}.context(t.Context()), "shop", "web", nil)
		if err != nil {
			t.Fatal(err)
		}
		object := unwrap(t, objects)[0]
		if got := fmt.Sprint(object.GetName(), " ", object.Object["data"].(map[string]any)["given"]); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
