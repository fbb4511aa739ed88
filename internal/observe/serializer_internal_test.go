// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/json"
)

// jsonInfo returns the JSON serializers that match.
func jsonInfo(t *testing.T, serializers runtime.NegotiatedSerializer) runtime.SerializerInfo {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(serializers.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		t.Fatal("there is no serializer for JSON")
	}
	return info
}

func standardSerializers() runtime.NegotiatedSerializer {
	return dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
}

// bodies are answers of an API server, and what only a broken one answers. Those that the package decodes itself are true.
var bodies = map[string]bool{
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`:    true,
	` {"kind":"Pod","apiVersion":"apps/v1"} ` + "\n":              true,
	`{"apiVersion":"v1","kind":"Pod","a":[],"b":{},"c":null}`:     true,
	`{"apiVersion":"v1","kind":"Pod","kind":"Node"}`:              true,
	`{"apiVersion":"v1","kind":"Status","status":"Failure"}`:      false,
	`{"apiVersion":"meta.k8s.io/v1","kind":"Status","code":404}`:  false,
	`{"apiVersion":"x.io/v1","kind":"Status","status":"Failure"}`: true,
	`{"apiVersion":"v1","kind":"PodList","items":[{"a":1}]}`:      true,
	`{"apiVersion":"v1","kind":"PodList","items":null}`:           true,
	`{"apiVersion":"v1","kind":"PodList","items":[]}`:             true,
	`{"apiVersion":"v1","kind":"L","items":[{"kind":"K"}]}`:       true,
	`{"apiVersion":"v1","kind":"PodList","metadata":{"x":"y"}}`:   true,
	`{"apiVersion":"v1","kind":"PodList","items":[null]}`:         false,
	`{"apiVersion":"v1","kind":"PodList","items":[1]}`:            false,
	`{"apiVersion":"v1","kind":"PodList","items":"a"}`:            false,
	`{"apiVersion":"v1"}`:                                           false,
	`{"kind":"Pod"}`:                                                false,
	`{"apiVersion":"","kind":"Pod"}`:                                false,
	`{"apiVersion":"a/b/c","kind":"Pod"}`:                           false,
	`{"apiVersion":"a/","kind":"Pod"}`:                              false,
	`{"apiVersion":1,"kind":"Pod"}`:                                 false,
	`{"apiVersion":"v1","kind":null}`:                               false,
	`{"APIVERSION":"v1","KIND":"Pod"}`:                              false,
	`{"apiVersion":"v1","kind":"Pod"}{}`:                            false,
	`{"apiVersion":"v1","kind":"Pod"`:                               false,
	`{"apiVersion":"v1","kind":"Pod","a":1e999}`:                    false,
	`{"apiVersion":"v1","kind":"Pod","a":[1,]}`:                     false,
	`{"type":"ADDED","object":{"apiVersion":"v1","kind":"Status"}}`: false,
	`[]`: false, `null`: false, `1`: false, ``: false, `a`: false,
}

func TestSameAsTheStandardSerializer(t *testing.T) {
	defaultKind := metav1.Unversioned.WithKind("Status")
	standard, own := jsonInfo(t, standardSerializers()).Serializer, jsonInfo(t, newSerializers(standardSerializers())).Serializer
	targets := map[string]func() runtime.Object{
		"nothing":            func() runtime.Object { return nil },
		"an object":          func() runtime.Object { return &unstructured.Unstructured{} },
		"a list":             func() runtime.Object { return &unstructured.UnstructuredList{} },
		"a status":           func() runtime.Object { return &metav1.Status{} },
		"something not read": func() runtime.Object { return &runtime.Unknown{} },
	}
	for name, target := range targets {
		for body := range bodies {
			for _, defaults := range []*schema.GroupVersionKind{nil, &defaultKind} {
				if strings.Contains(body, "x.io") && target() == nil {
					continue // the standard serializer takes each kind Status for that of an error
				}
				wanted, wantedKind, wantedErr := standard.Decode([]byte(body), defaults, target())
				got, gotKind, gotErr := own.Decode([]byte(body), defaults, target())
				if diff := cmp.Diff(wanted, got); diff != "" {
					t.Errorf("%s into %s: %s", body, name, diff)
				}
				if diff := cmp.Diff(wantedKind, gotKind); diff != "" {
					t.Errorf("kind of %s into %s: %s", body, name, diff)
				}
				if (wantedErr == nil) != (gotErr == nil) || wantedErr != nil && wantedErr.Error() != gotErr.Error() {
					t.Errorf("%s into %s: the error is %v, want %v", body, name, gotErr, wantedErr)
				}
			}
		}
	}
}

// refusing is a serializer that decodes nothing.
type refusing struct{ runtime.Serializer }

func (refusing) Decode([]byte, *schema.GroupVersionKind, runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	return nil, nil, errRefused
}

func TestWhatIsDecodedInOnePass(t *testing.T) {
	for body, wanted := range bodies {
		var into runtime.Object
		if fields, _, _ := decodeObject([]byte(body)); fields["items"] != nil || fields["kind"] == "PodList" {
			into = &unstructured.UnstructuredList{}
		}
		_, _, err := serializer{refusing{}}.Decode([]byte(body), nil, into)
		if got := err == nil; got != wanted {
			t.Errorf("%s: decoded here: %t, want %t", body, got, wanted)
		}
	}
}

func FuzzValues(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-0,1.5,1e3,9223372036854775807,9223372036854775808,-9223372036854775809,0.1e-7]}`,
		`"\ud800 \u0000 \ud83d\ude00 \/"`, "\"\xff\"", `[[[]],{},{"":{"":null}},true,false]`, `01`, `-`, `[1 2]`, `{"a":1,"a":2}`, "\ufeff{}", `1 `,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var wanted any
		wantedErr := json.UnmarshalCaseSensitivePreserveInts([]byte(text), &wanted)
		got, err := decodeValue([]byte(text))
		if (err == nil) != (wantedErr == nil) {
			t.Fatalf("the error is %v, want %v", err, wantedErr)
		}
		if err == nil {
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Error(diff)
			}
		}
	})
}
