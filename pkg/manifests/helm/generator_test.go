// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"errors"
	"strings"
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

func TestContextIsNeeded(t *testing.T) {
	t.Parallel()
	generator, err := helm.New(releaseChart, ".", helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	expect := func(want string) {
		t.Helper()
		if _, err := generator.Generate(ctx, "shop", "web", nil); err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("got error %v, want %s, and what to do", err, want)
		}
	}
	expect("reconciler name not found in context")
	ctx = generating.WithReconcilerName(ctx, "demo.example.io")
	expect("component revision not found in context")
	ctx = generating.WithComponentRevision(ctx, 1)
	expect("client not found in context")
	ctx = generating.WithClient(ctx, targetClient())
	if _, err := generator.Generate(ctx, "shop", "web", nil); err != nil {
		t.Errorf("no parameters are like empty ones: %v", err)
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

func TestConstructors(t *testing.T) {
	t.Parallel()
	setGiven := parameterFunc(func(parameters types.Unstructurable) (types.Unstructurable, error) {
		return types.UnstructurableMap(manifests.MergeMaps(parameters.ToUnstructured(), map[string]any{"given": "transformed"})), nil
	})
	setName := objectFunc(func(objects []client.Object) ([]client.Object, error) {
		objects[0].SetName("transformed")
		return objects, nil
	})
	tests := []struct {
		reason      string
		create      func(path string) (manifests.Generator, error)
		given, name string
		pure        bool
	}{
		{"bare", func(path string) (manifests.Generator, error) { return helm.New(releaseChart, path, helm.Options{}) }, "set", "release", true},
		{"transformable", func(path string) (manifests.Generator, error) {
			return helm.NewTransformableHelmGenerator(releaseChart, path, nil)
		}, "set", "release", true},
		{"with parameter transformer", func(path string) (manifests.Generator, error) {
			return helm.NewHelmGeneratorWithParameterTransformer(releaseChart, path, nil, setGiven)
		}, "transformed", "release", false},
		{"with object transformer", func(path string) (manifests.Generator, error) {
			return helm.NewHelmGeneratorWithObjectTransformer(releaseChart, path, nil, setName)
		}, "set", "transformed", false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			generator, err := tt.create("/")
			if err != nil {
				t.Fatal(err)
			}
			parameters := types.UnstructurableMap{"given": "set"}
			objects, err := generator.Generate(state{1, false}.context(t.Context()), "shop", "web", parameters)
			if err != nil {
				t.Fatal(err)
			}
			object := unwrap(t, objects)[0]
			if got := object.Object["data"].(map[string]any)["given"]; got != tt.given || object.GetName() != tt.name {
				t.Errorf("got parameter %v, name %s", got, object.GetName())
			}
			if parameters["given"] != "set" {
				t.Error("the caller's parameters were changed")
			}
			if got := generator.(manifests.Pure).Fingerprint() != ""; got != tt.pure {
				t.Errorf("got pure=%t", got)
			}
			if _, err := tt.create("missing"); err == nil || !strings.Contains(err.Error(), "reading chart missing") {
				t.Errorf("a missing chart: got error %v", err)
			}
		})
	}
}

func TestFingerprintChangesWithTheChart(t *testing.T) {
	t.Parallel()
	fingerprint := func(template string) string {
		generator, err := helm.New(chartWith(map[string]string{"templates/a.yaml": template}), ".", helm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return generator.Fingerprint()
	}
	first, again, other := fingerprint("# a"), fingerprint("# a"), fingerprint("# b")
	if first != again || first == other {
		t.Errorf("it does not identify the chart: %s, %s, %s", first, again, other)
	}
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
		ctx, reads := generating.TrackClusterReads(generating.WithClient(state{1, false}.context(t.Context()), target))
		if _, err := generator.Generate(ctx, "shop", "web", nil); err != nil {
			t.Fatal(err)
		}
		if reads.Any() != want {
			t.Errorf("%s: got %t, want %t", template, reads.Any(), want)
		}
	}
}

func TestCanceledContext(t *testing.T) {
	t.Parallel()
	generator, err := helm.New(releaseChart, ".", helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(state{1, false}.context(t.Context()))
	cancel()
	if _, err := generator.Generate(ctx, "shop", "web", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}
