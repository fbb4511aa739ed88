// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type walkedInline struct {
	Ref SecretKeyReference `json:"inlineRef" fallbackKeys:"x, y"`
}

type walkedNode struct {
	Ref   *SecretReference `json:"ref,omitempty"`
	Nodes []walkedNode     `json:"nodes,omitempty"`
	Next  *walkedNode      `json:"next,omitempty"`
}

type customReference struct{ name string }

func (*customReference) Load(context.Context, client.Client, *Widget) error { return nil }
func (r *customReference) Digest() string                                   { return r.name }

type valueReference map[string]string

func (valueReference) Load(context.Context, client.Client, *Widget) error { return nil }
func (r valueReference) Digest() string                                   { return fmt.Sprint(map[string]string(r)) }

type walkedSpec struct {
	walkedInline `json:",inline"`
	KubeConfig   *KubeConfigSpec               `json:"kubeConfig,omitempty"`
	Plain        string                        `json:"plain"`
	Direct       ConfigMapReference            `json:"direct"`
	NoTag        ConfigMapKeyReference         `fallbackKeys:"a"`
	List         []*SecretKeyReference         `json:"list" fallbackKeys:"l" notFoundPolicy:"ignoreOnDeletion"`
	Array        [2]SecretReference            `json:"array"`
	Map          map[string]SecretKeyReference `json:"map" fallbackKeys:"m"`
	Numbers      map[int]*ConfigMapReference   `json:"numbers"`
	Tree         walkedNode                    `json:"tree"`
	Any          any                           `json:"any"`
	Custom       customReference               `json:"custom"`
	CustomList   []*customReference            `json:"customList"`
	CustomValue  valueReference                `json:"customValue"`
	Raw          apiextensionsv1.JSON          `json:"raw"`
	Bytes        []byte                        `json:"bytes"`
	Channel      chan SecretReference          `json:"-"`
	Function     func(SecretReference)         `json:"-"`
	hidden       SecretReference
}

// found is what is compared of an occurrence.
type found struct {
	Path, Type, Keys string
	Target, Ignored  bool
}

func walked(t *testing.T, w walker, root any) []found {
	t.Helper()
	var all []found
	err := w.walk(root, func(o occurrence) error {
		all = append(all, found{o.Path, reflect.TypeOf(o.Value).String(), fmt.Sprint(o.FallbackKeys()), o.Target, o.IgnoredOnDeletion()})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWalk(t *testing.T) {
	t.Parallel()
	w := walker{extension: reflect.TypeFor[Reference[*Widget]]()}
	secret := "*component.SecretReference"
	secretKey := "*component.SecretKeyReference"
	for _, test := range []struct {
		reason string
		root   any
		want   []found
	}{
		{
			reason: "references by value are always there, others only if they are set; what is hidden, or no data, is not visited",
			root:   &walkedSpec{hidden: SecretReference{Name: "hidden"}},
			want: []found{
				{Path: "spec.inlineRef", Type: secretKey, Keys: "[x y]"},
				{Path: "spec.direct", Type: "*component.ConfigMapReference", Keys: "[]"},
				{Path: "spec.NoTag", Type: "*component.ConfigMapKeyReference", Keys: "[a]"},
				{Path: "spec.array[0]", Type: secret, Keys: "[]"},
				{Path: "spec.array[1]", Type: secret, Keys: "[]"},
				{Path: "spec.custom", Type: "*component.customReference", Keys: "[]"},
				{Path: "spec.customValue", Type: "component.valueReference", Keys: "[]"},
			},
		}, {
			reason: "elements inherit the tags of the field, in the order of keys",
			root: &struct {
				List    []*SecretKeyReference          `json:"list" fallbackKeys:"l" notFoundPolicy:"ignoreOnDeletion"`
				Map     map[string]*SecretKeyReference `json:"map" fallbackKeys:"m"`
				Numbers map[int]*SecretReference       `json:"numbers"`
			}{
				List:    []*SecretKeyReference{nil, {}},
				Map:     map[string]*SecretKeyReference{"b": {}, "a": {}},
				Numbers: map[int]*SecretReference{1: {}},
			},
			want: []found{
				{Path: "spec.list[1]", Type: secretKey, Keys: "[l]", Ignored: true},
				{Path: `spec.map["a"]`, Type: secretKey, Keys: "[m]"},
				{Path: `spec.map["b"]`, Type: secretKey, Keys: "[m]"},
				{Path: `spec.numbers["1"]`, Type: secret, Keys: "[]"},
			},
		}, {
			reason: "what leads to the target is known",
			root:   &ClientSpec{KubeConfig: &KubeConfigSpec{}},
			want:   []found{{Path: "spec.kubeConfig.secretRef", Type: secretKey, Keys: "[value value.yaml value.yml]", Target: true}},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			diff(t, "references", test.want, walked(t, w, test.root))
			diff(t, "references, the second time", test.want, walked(t, w, test.root))
		})
	}
}

func TestWalkPutsBackWhatIsInMaps(t *testing.T) {
	t.Parallel()
	spec := &walkedSpec{Map: map[string]SecretKeyReference{"a": {Name: "x"}}}
	err := walker{}.walk(spec, func(o occurrence) error {
		if reference, ok := o.Value.(*SecretKeyReference); ok && o.Path == `spec.map["a"]` {
			reference.value = []byte("loaded")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	reference := spec.Map["a"]
	diff(t, "value", "loaded", string(reference.Value()))
}
