// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// everyCapability embeds all structs that are meant for the reconciler.
type everyCapability struct {
	component.Spec              `json:"legacy"`
	component.PlacementSpec     `json:",inline"`
	component.ClientSpec        `json:",inline"`
	component.ImpersonationSpec `json:",inline"`
	component.SuspensionSpec    `json:",inline"`
	*component.PresenceSpec     `json:",inline"`
	component.RequeueSpec       `json:",inline"`
	component.RetrySpec         `json:",inline"`
	component.TimeoutSpec       `json:",inline"`
	component.ReapplySpec       `json:",inline"`
	component.PolicySpec        `json:",inline"`
	common                      `json:",inline"`
	*Shared                     `json:",inline"`

	Image    component.ImageSpec `json:"image"`
	Replicas int32               `json:"replicas"`
	Name     string              `json:"name,omitempty"`
	Deploy   struct {
		component.PlacementSpec `json:",inline"`

		Region string `json:"region"`
	} `json:"deploy"`
}

type common struct {
	component.PresenceSpec `json:",inline"`

	Zone string `json:"zone,omitempty"`
}

// Shared is embedded in a spec, and embeds structs for the reconciler.
type Shared struct {
	component.ReconcileSpec `json:",inline"`
	component.DriftSpec     `json:",inline"`
	component.TypeSpec      `json:",inline"`
	component.DeletionSpec  `json:"deletion"`

	Tier string `json:"tier"`
}

func TestToUnstructured(t *testing.T) {
	t.Parallel()
	duration := &metav1.Duration{Duration: 1}
	spec := &everyCapability{
		Spec: component.Spec{Name: "x"}, PlacementSpec: component.PlacementSpec{Namespace: "x", Name: "x"},
		ClientSpec:        component.ClientSpec{KubeConfig: &component.KubeConfigSpec{SecretRef: component.SecretKeyReference{Name: "x"}}},
		ImpersonationSpec: component.ImpersonationSpec{ServiceAccountName: "x"}, SuspensionSpec: component.SuspensionSpec{Suspend: true},
		PresenceSpec: &component.PresenceSpec{Presence: component.PresencePaused},
		RequeueSpec:  component.RequeueSpec{RequeueInterval: duration}, RetrySpec: component.RetrySpec{RetryInterval: duration},
		TimeoutSpec: component.TimeoutSpec{Timeout: duration}, ReapplySpec: component.ReapplySpec{ReapplyInterval: duration},
		PolicySpec: component.PolicySpec{DeletePolicy: reconciler.DeletePolicyOrphan},
		common:     common{PresenceSpec: component.PresenceSpec{Presence: component.PresenceSuspended}, Zone: "a"},
		Shared: &Shared{
			ReconcileSpec: component.ReconcileSpec{ReconcilePolicy: reconciler.ReconcilePolicyOnce}, DriftSpec: component.DriftSpec{DriftPolicy: reconciler.DriftPolicyIgnore},
			TypeSpec:     component.TypeSpec{AdditionalManagedTypes: []reconciler.TypeInfo{{Group: "x", Kind: "X"}}},
			DeletionSpec: component.DeletionSpec{MaxDeletions: new(intstr.FromInt32(1))}, Tier: "gold",
		},
		Image: component.ImageSpec{Tag: "1"}, Replicas: 2, Name: "mine",
	}
	spec.Deploy.Namespace, spec.Deploy.Region = "own", "eu"
	before := *spec.Shared
	want := map[string]any{
		"zone": "a", "tier": "gold", "image": map[string]any{"tag": "1"}, "replicas": int64(2), "name": "mine", "deploy": map[string]any{"namespace": "own", "region": "eu"},
	}
	// A field of a struct that is not embedded belongs to the author of the operator, whatever it embeds.
	if diff := cmp.Diff(want, component.ToUnstructured(spec)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if spec.PlacementSpec.Namespace != "x" || !reflect.DeepEqual(before, *spec.Shared) || spec.PresenceSpec.Presence != component.PresencePaused || spec.common.Presence == "" {
		t.Error("the spec has changed")
	}
	if got := component.ToUnstructured(&everyCapability{}); len(got) != 3 {
		t.Errorf("unexpected parameters of an empty spec: %v", got)
	}
}

// TestEveryCapabilityIsLeftOut fails if a struct that ends in Spec is not known to be for the reconciler.
func TestEveryCapabilityIsLeftOut(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "specs.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"KubeConfigSpec"} // part of ClientSpec
	for _, embedding := range []reflect.Type{reflect.TypeFor[everyCapability](), reflect.TypeFor[Shared]()} {
		for i := range embedding.NumField() {
			known = append(known, embedding.Field(i).Name)
		}
	}
	count := 0
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok && strings.HasSuffix(spec.Name.Name, "Spec") {
			if count++; !strings.Contains(strings.Join(known, " ")+" ", spec.Name.Name+" ") {
				t.Errorf("%s is not tested", spec.Name.Name)
			}
		}
		return true
	})
	if count < 15 {
		t.Errorf("only %d types were found", count)
	}
}

type withReferences struct {
	Password     string                            `json:"password,omitempty"`
	PasswordRef  *component.SecretKeyReference     `json:"passwordRef,omitempty" loadedAs:"password"`
	Settings     component.ConfigMapReference      `json:"settings" loadedAs:"settings"`
	Certificates map[string]credentials            `json:"certificates,omitempty" loadedAs:"tls"`
	Keys         []component.ConfigMapKeyReference `json:"keys,omitempty" loadedAs:"keyTexts"`
	Hidden       component.SecretReference         `json:"hidden" loadedAs:"-"`
	Plain        component.SecretKeyReference      `json:"plain"`
	Nested       []nested                          `json:"nested,omitempty"`
	Any          any                               `json:"any,omitempty"`
}

type nested struct {
	All *component.SecretReference `json:"all,omitempty" loadedAs:"content"`
}

// credentials is a reference of an author.
type credentials struct {
	component.SecretKeyReference `json:",inline"`

	Comment string `json:"comment,omitempty"`
}

func TestLoadedReferences(t *testing.T) {
	t.Parallel()
	secret := func(name string) component.SecretKeyReference {
		return component.SecretKeyReference{Name: name, Key: "k"}
	}
	spec := &withReferences{
		Password: "overridden", PasswordRef: new(secret("a")), Settings: component.ConfigMapReference{Name: "b"},
		Certificates: map[string]credentials{"x": {SecretKeyReference: secret("c"), Comment: "old"}}, Keys: []component.ConfigMapKeyReference{{Name: "d"}, {}},
		Hidden: component.SecretReference{Name: "e"}, Plain: secret("f"), Nested: []nested{{All: &component.SecretReference{Name: "g"}}, {}}, Any: &nested{All: &component.SecretReference{Name: "h"}},
	}
	if err := component.SetContent(spec); err != nil {
		t.Fatal(err)
	}
	content := map[string]any{"k": "loaded"}
	want := map[string]any{
		"password": "loaded", "settings": content, "tls": map[string]any{"x": "loaded"}, "keyTexts": []any{"loaded", nil}, "plain": map[string]any{"name": "f", "key": "k"},
		"nested": []any{map[string]any{"content": content}, map[string]any{}}, "any": map[string]any{"content": content},
	}
	if diff := cmp.Diff(want, component.ToUnstructured(spec)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = map[string]any{"password": "given", "plain": map[string]any{"name": ""}}
	if diff := cmp.Diff(want, component.ToUnstructured(&withReferences{Password: "given"})); diff != "" {
		t.Errorf("references that are not set (-want +got)\n%s", diff)
	}
}

func TestMisusedTag(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]any{
		`field Name of type component_test.misused has the tag loadedAs:"name", but holds no reference to a ConfigMap or Secret`: &misused{},
		"a spec must be a pointer to a struct, but is of type component_test.misused":                                            misused{},
		"has no JSON form": &struct {
			Wrong map[int]string `json:"wrong"`
		}{Wrong: map[int]string{1: "a"}},
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q, got %v", want, err)
				}
			}()
			component.ToUnstructured(spec)
		}()
	}
}

type misused struct {
	Name string `json:"name" loadedAs:"name"`
}

// swapped has the name of a field as that of the content of another one.
type swapped struct {
	User   component.SecretKeyReference  `json:"user" loadedAs:"secret"`
	Secret *component.SecretKeyReference `json:"secret,omitempty" loadedAs:"extra"`
	Other  *component.SecretKeyReference `json:"other,omitempty" loadedAs:"secret"`
}

func TestNamesOfContent(t *testing.T) {
	t.Parallel()
	spec := &swapped{User: component.SecretKeyReference{Name: "a"}}
	if err := component.SetContent(spec); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"secret": "loaded"}, component.ToUnstructured(spec)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	spec.Other = &component.SecretKeyReference{Name: "b"}
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), `two references in a value of type component_test.swapped have the tag loadedAs:"secret", and both are set`) {
			t.Errorf("got %v", err)
		}
	}()
	component.ToUnstructured(spec)
}
