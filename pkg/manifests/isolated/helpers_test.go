// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/manifests/isolated"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/types"
)

// program is set by TestMain: the test program is what is started for each rendering.
var program *isolated.Program

func TestMain(m *testing.M) {
	program = isolated.Main(definitions())
	if os.Getenv(roleVariable) == roleOperator {
		playOperator()
		return
	}
	os.Exit(m.Run())
}

func definitions() map[string]isolated.Definition {
	return map[string]isolated.Definition{
		"chart": {New: func() (manifests.Generator, error) { return helm.New(chart, ".", helm.Options{}) }},
		"kustomization": {New: func() (manifests.Generator, error) {
			return kustomize.New(kustomization, "app", kustomize.Options{})
		}},
		"own": {
			New:   func() (manifests.Generator, error) { return own{}, nil },
			Types: []any{&widget{}, &widgetSpec{}},
		},
		"pipeline": {New: func() (manifests.Generator, error) {
			return manifests.NewGenerator(own{}).WithObjectTransformer(manifests.ObjectTransformerFunc(
				func(_, _ string, objects []client.Object) ([]client.Object, error) { return objects[:1], nil })), nil
		}},
		"fickle": {New: func() (manifests.Generator, error) {
			return fickle(fmt.Sprint("made by ", os.Getpid())), nil
		}},
		"example":  generators["shop"],
		"broken":   {New: func() (manifests.Generator, error) { return nil, fmt.Errorf("no chart") }},
		"nothing":  {},
		"nil type": {New: func() (manifests.Generator, error) { return own{}, nil }, Types: []any{nil}},
	}
}

// chart has an endless loop and a collector of memory, besides what it renders.
var chart = fstest.MapFS{
	"Chart.yaml":  {Data: []byte("apiVersion: v2\nname: demo\nversion: 1.0.0\n")},
	"values.yaml": {Data: []byte("replicas: 1\nratio: 0.5\n")},
	"templates/a.yaml": {Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
data:
  release: "{{ .Release.Revision }} {{ .Release.IsUpgrade }}"
  version: {{ .Capabilities.KubeVersion.Version }}
  values: {{ .Values | toJson | quote }}
spec: {replicas: {{ .Values.replicas }}, ratio: {{ .Values.ratio }}, whole: 2.0, none: null, text: "1"}
{{- if .Values.secret }}
found: {{ (lookup "v1" "Secret" .Release.Namespace .Values.secret).data | toJson }}
{{- end }}
{{- if eq .Values.mischief "loop" }}{{ range $i := 1000000000000000 }}{{ end }}{{ end }}
{{- if eq .Values.mischief "bomb" }}{{ $d := dict }}{{ range $i := 1000000000 }}{{ $_ := set $d (toString $i) (repeat 1000000 "x") }}{{ end }}{{ end }}
{{- if eq .Values.mischief "fail" }}{{ fail "this is wrong" }}{{ end }}
`)},
}

var kustomization = fstest.MapFS{
	"base/kustomization.yaml": {Data: []byte("resources: [config.yaml]\n")},
	"base/config.yaml":        {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\n  uid: 1\ndata: {a: b}\nratio: 0.5\n")},
	"app/kustomization.yaml":  {Data: []byte("resources: [../base, more.yaml]\nnamePrefix: {{ name }}-\n")},
	"app/more.yaml": {Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: more}
data:
  values: {{ . | toJson | quote }}
  component: {{ (component).GetName }} {{ componentDigest }} {{ componentRevision }}
`)},
}

// fickle is a generator with a fingerprint that is another one in each process.
type fickle string

func (f fickle) Fingerprint() string { return string(f) }

func (f fickle) Generate(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
	return nil, nil
}

func newGenerator(t *testing.T, name string, options isolated.Options) *isolated.Generator {
	t.Helper()
	generator, err := program.NewGenerator(name, options)
	if err != nil {
		t.Fatal(err)
	}
	return generator
}

// surroundings returns a context as a reconciler makes it, for a cluster that exists in memory only.
func surroundings(ctx context.Context, component client.Object) context.Context {
	ctx = generating.WithReconcilerName(ctx, "demo.example.io")
	ctx = generating.WithClient(ctx, targetClient(nil))
	ctx = generating.WithLocalClient(ctx, targetClient(nil))
	ctx = generating.WithComponentName(ctx, "shop")
	ctx = generating.WithComponentNamespace(ctx, "shops")
	ctx = generating.WithComponentDigest(ctx, "d1gest")
	ctx = generating.WithComponentRevision(ctx, 7)
	ctx = generating.WithComponent(ctx, component)
	ctx = generating.WithReleaseHooks(ctx)
	return generating.WithInstalled(ctx, true)
}

// targetClient reads by the given client, if there is one, and offers discovery.
func targetClient(clnt client.Client) cluster.Client {
	discovery := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"}}
	return cluster.NewClient(clnt, discovery, nil, nil, nil)
}

// component is one without a Go type.
func component() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.io/v1", "kind": "Shop", "metadata": map[string]any{"name": "shop", "namespace": "shops"},
		"spec": map[string]any{"replicas": int64(2), "ratio": 0.5},
	}}
}

func expectError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, which lacks %q", err, part)
		}
	}
}

// soon is a limit for what is expected not to end by itself.
const soon = 500 * time.Millisecond

// widget is a component with a Go type.
type widget struct {
	unstructured.Unstructured `json:",inline"`

	loaded string
}

// widgetSpec are parameters with a Go type, of which not everything has a JSON form.
type widgetSpec struct {
	Size      int32                       `json:"size"`
	Parts     []string                    `json:"parts,omitempty"`
	Since     *metav1.Time                `json:"since,omitempty"`
	Capacity  resource.Quantity           `json:"capacity"`
	Port      intstr.IntOrString          `json:"port"`
	Free      map[string]any              `json:"free,omitempty"`
	Refs      map[string]*reference       `json:"refs,omitempty"`
	ByValue   map[string]reference        `json:"byValue,omitempty"`
	Derived   [2]uint64                   `json:"-"`
	Empty     []string                    `json:"empty"`
	Callback  func()                      `json:"-"`
	Next      *widgetSpec                 `json:"-"`
	Raw       runtime.RawExtension        `json:"raw"`
	Condition []metav1.Condition          `json:"conditions,omitempty"`
	Limits    corev1.ResourceList         `json:"limits,omitempty"`
	Content   apiextensionsv1.JSON        `json:"content"`
	Selector  map[corev1.Protocol]float32 `json:"selector,omitempty"`
}

// reference is one whose content was loaded.
type reference struct {
	Name string `json:"name"`

	data map[string][]byte
}

// fullSpec has something in each field that can be sent.
func fullSpec() *widgetSpec {
	moment := metav1.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	loaded := map[string][]byte{"key": {0, 255}, "none": nil}
	return &widgetSpec{
		Size: -3, Parts: []string{"a", "\xff"}, Since: &moment, Capacity: resource.MustParse("1500m"), Port: intstr.FromString("http"),
		Free: map[string]any{"a": []any{int64(1), 1.0, nil, true}}, Refs: map[string]*reference{"a": {"x", loaded}, "b": nil},
		ByValue: map[string]reference{"a": {"x", loaded}}, Derived: [2]uint64{1, math.MaxUint64}, Empty: []string{},
		Next: &widgetSpec{Size: 1}, Raw: runtime.RawExtension{Raw: []byte("{}")}, Condition: []metav1.Condition{{Type: "Ready", LastTransitionTime: moment}},
		Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}, Content: apiextensionsv1.JSON{Raw: []byte("1")},
		Selector: map[corev1.Protocol]float32{"TCP": 0.1},
	}
}

func (s *widgetSpec) ToUnstructured() map[string]any {
	return map[string]any{"size": s.Size}
}
