// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"reflect"
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
