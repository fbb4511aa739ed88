// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/isolated"
	"github.com/component-operator/runtime/pkg/types"
)

// TestSameObjects: whoever generates, in the process or beside it, the objects are the same, Go types included.
func TestSameObjects(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		generator  string
		component  client.Object
		parameters types.Unstructurable
	}{
		"Chart":         {"chart", component(), types.UnstructurableMap{"replicas": 3, "mischief": "", "list": []string{"a"}, "none": nil, "big": int64(1) << 60, "whole": 2.0}},
		"Kustomization": {"kustomization", component(), types.UnstructurableMap{"replicas": 3, "ratio": 0.25, "text": "1"}},
		"OwnTypes":      {"own", &widget{*component(), "loaded"}, fullSpec()},
		"GoTypes":       {"own", component(), types.UnstructurableMap{"do": "types"}},
		"NoData":        {"own", component(), types.UnstructurableMap{"do": "text"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inside, err := definitions()[tc.generator].New()
			if err != nil {
				t.Fatal(err)
			}
			ctx := surroundings(t.Context(), tc.component)
			want, err := inside.Generate(ctx, "ns", "web", tc.parameters)
			if err != nil {
				t.Fatal(err)
			}
			got, err := newGenerator(t, tc.generator, isolated.Options{}).Generate(ctx, "ns", "web", tc.parameters)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("got %d objects, (-in the process +beside it):\n%s", len(got), diff)
			}
		})
	}
}

// TestNumbers: numbers of any Go type arrive as those that manifests have.
func TestNumbers(t *testing.T) {
	t.Parallel()
	objects, err := newGenerator(t, "own", isolated.Options{}).Generate(t.Context(), "", "", types.UnstructurableMap{
		"do": "numbers", "int": int32(1), "number": json.Number("2"), "float": float32(0.5), "list": []any{json.Number("1.5"), uint8(3), map[string]any{"a": json.Number("4")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := configMap("numbers", map[string]string{"types": "int64 int64 float64 []interface {} [1.5 3 map[a:4]]"})
	if diff := cmp.Diff([]client.Object{want}, objects); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNumbersOfObjects: so do those of objects; a json.Number must not become text.
func TestNumbersOfObjects(t *testing.T) {
	t.Parallel()
	objects, err := newGenerator(t, "own", isolated.Options{}).Generate(t.Context(), "", "", types.UnstructurableMap{"do": "numbers of objects"})
	if err != nil {
		t.Fatal(err)
	}
	want := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "numbers"},
		"spec": map[string]any{"int": int64(1), "number": int64(2), "list": []any{1.5, int64(3)}, "texts": []any{"a"}},
	}}
	if diff := cmp.Diff([]client.Object{want}, objects); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	text := func(text string) types.Unstructurable { return types.UnstructurableMap{"do": "error", "text": text} }
	do := func(what string) types.Unstructurable { return types.UnstructurableMap{"do": what} }
	cyclic := &widgetSpec{}
	cyclic.Next = cyclic
	type other struct{ types.UnstructurableMap }
	cases := map[string]struct {
		reason     string
		generator  string
		component  client.Object
		parameters types.Unstructurable
		err        string
	}{
		"OfTheGenerator":  {"the text is the same", "own", nil, text("line 1\nline \xff"), "line 1\nline \xff"},
		"OfTheChart":      {"it names file and line", "chart", nil, types.UnstructurableMap{"mischief": "fail"}, "(demo/templates/a.yaml:16:39): this is wrong"},
		"Panic":           {"a panic is an error", "own", nil, do("panic"), "the generator panicked: ouch"},
		"PanicElsewhere":  {"a panic of another goroutine ends the process", "own", nil, do("panic elsewhere"), "it has failed (exit status 2): panic: ouch elsewhere"},
		"Fatal":           {"so does what Go programs cannot survive", "own", nil, do("fatal"), "it has failed (exit status 2): fatal error: sync: unlock of unlocked mutex"},
		"Exit":            {"a process may end without a word", "own", nil, do("exit"), "it has ended (exit status 3): waiting for the objects: EOF"},
		"NilObject":       {"objects must be there", "own", nil, do("nil"), "object 1 is nil (*v1.Secret)"},
		"Behaviors":       {"code cannot be sent", "own", nil, do("behaviors"), `object 1, "a", has behaviors (Awaited, Stepped), which an isolated generator cannot return`},
		"ForeignObject":   {"the operator could not know the type", "own", nil, do("foreign type"), "has Go type *isolated_test.widget"},
		"ForeignSpec":     {"the process could not know the type", "own", nil, other{}, "the Go type isolated_test.other of the parameters is not known"},
		"ForeignOwner":    {"likewise", "chart", &widget{Unstructured: *component()}, types.UnstructurableMap{}, "the Go type *isolated_test.widget of the component is not known"},
		"Function":        {"what is no data cannot be sent", "own", nil, &widgetSpec{Callback: func() {}}, "sending the parameters of type *isolated_test.widgetSpec: *isolated_test.widgetSpec: field Callback: a func() cannot be sent"},
		"Object":          {"likewise", "own", nil, &widgetSpec{Raw: runtime.RawExtension{Object: component()}}, "field Raw: field Object: a *unstructured.Unstructured behind a runtime.Object cannot be sent"},
		"Cycle":           {"likewise", "own", nil, cyclic, "it refers to itself"},
		"NoData":          {"functions are no data", "own", nil, types.UnstructurableMap{"f": func() {}}, "value f has type func(), which has no JSON form"},
		"StrangeObject":   {"so it is in objects", "own", nil, do("no data"), `sending object 1, "strange": value data has type func()`},
		"LargeObjects":    {"what is sent is limited", "own", nil, do("large"), "sending the objects: it takes 17825"},
		"LargeParameters": {"in both directions", "own", nil, text(strings.Repeat("x", 17<<20)), "sending the parameters to a process of its own: it takes 17826"},
		"Fickle":          {"a generator of other flags, or of another program, must not be used", "fickle", nil, do(""), "its New has created a different generator than in the operator"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := surroundings(t.Context(), tc.component)
			objects, err := newGenerator(t, tc.generator, isolated.Options{}).Generate(ctx, "ns", "web", tc.parameters)
			if len(objects) > 0 {
				t.Errorf("%s: got objects %v", tc.reason, objects)
			}
			expectError(t, err, tc.err)
		})
	}
}

// TestRetriableError: the reconciler looks for it in the chain.
func TestRetriableError(t *testing.T) {
	t.Parallel()
	_, err := newGenerator(t, "own", isolated.Options{}).Generate(t.Context(), "", "", types.UnstructurableMap{"do": "retriable"})
	var retriable types.RetriableError
	if !errors.As(err, &retriable) || retriable.RetryAfter() == nil || *retriable.RetryAfter() != 7*time.Second {
		t.Errorf("got error %#v", err)
	}
	expectError(t, err, "waiting: not yet")
}

// TestPrinting: standard output is not what the objects come by.
func TestPrinting(t *testing.T) {
	t.Parallel()
	objects, err := newGenerator(t, "own", isolated.Options{}).Generate(t.Context(), "", "", types.UnstructurableMap{"do": "print"})
	if err != nil || len(objects) != 1 {
		t.Errorf("got %d objects, error %v", len(objects), err)
	}
}

// TestPipeline: a generator may have transformers.
func TestPipeline(t *testing.T) {
	t.Parallel()
	objects, err := newGenerator(t, "pipeline", isolated.Options{}).Generate(t.Context(), "", "a", types.UnstructurableMap{"do": "types"})
	if err != nil || len(objects) != 1 {
		t.Errorf("got %d objects, error %v", len(objects), err)
	}
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	generator := newGenerator(t, "own", isolated.Options{})
	var group sync.WaitGroup
	for _, text := range []string{"a", "b", "c", "d", "e", "f"} {
		group.Go(func() {
			objects, err := generator.Generate(t.Context(), "", "", types.UnstructurableMap{"do": "text", "text": text})
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff([]client.Object{configMap("text", map[string]string{"a": text})}, objects); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	group.Wait()
}

// TestPurity: the isolated generator is as pure as the other one.
func TestPurity(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"chart", "kustomization", "own", "pipeline"} {
		inside, err := definitions()[name].New()
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if pure, ok := inside.(manifests.Pure); ok {
			want = pure.Fingerprint()
		}
		if got := newGenerator(t, name, isolated.Options{}).Fingerprint(); got != want {
			t.Errorf("%s: got fingerprint %q, want %q", name, got, want)
		}
	}
}

func TestInvalidGenerators(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		name    string
		options isolated.Options
		err     string
	}{
		"Unknown":  {"shop", isolated.Options{}, `there is no generator "shop"; must be one of ["broken" "chart" `},
		"Broken":   {"broken", isolated.Options{}, `creating generator "broken": no chart`},
		"NoNew":    {"nothing", isolated.Options{}, `creating generator "nothing": its definition has no New`},
		"NilType":  {"nil type", isolated.Options{}, `value 1 of its Types is nil`},
		"Timeout":  {"own", isolated.Options{Timeout: -1}, "invalid Timeout -1ns"},
		"Memory":   {"own", isolated.Options{Memory: -1}, "invalid Memory -1; it must be at least 67108864"},
		"TooSmall": {"own", isolated.Options{Memory: 1 << 20}, "invalid Memory 1048576; it must be at least 67108864"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := program.NewGenerator(tc.name, tc.options)
			expectError(t, err, tc.err)
		})
	}
}
