// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/inventory"
)

func TestKeyedDigests(t *testing.T) {
	t.Parallel()
	object := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a"}}}
	}
	for _, tc := range []struct {
		reason                string
		kind                  string
		policy                inventory.ReconcilePolicy
		key                   string
		former                string
		wantKeyed, wantFormer bool
	}{
		{"who has no key needs none", "Secret", inventory.ReconcilePolicyOnObjectChange, "", "", false, false},
		{"a Secret is keyed, and was not before", "Secret", inventory.ReconcilePolicyOnObjectChange, "k", "c0", true, true},
		{"other objects do not hide anything", "ConfigMap", inventory.ReconcilePolicyOnObjectChange, "k", "c0", false, false},
		{"but may have the digest of the component", "ConfigMap", inventory.ReconcilePolicyOnObjectOrComponentChange, "k", "c0", false, true},
		{"whose former one may be unknown", "ConfigMap", inventory.ReconcilePolicyOnObjectOrComponentChange, "k", "", false, false},
		{"so may a Secret", "Secret", inventory.ReconcilePolicyOnObjectOrComponentChange, "k", "c0", true, true},
		{"what is applied once has no digest", "Secret", inventory.ReconcilePolicyOnce, "k", "c0", false, false},
	} {
		plain, err := DigestOf(object(tc.kind), tc.policy, "c1")
		if err != nil {
			t.Fatal(err)
		}
		now, former, err := digestsOf(object(tc.kind), tc.policy, Source{Digest: "c1", FormerDigest: tc.former, DigestKey: []byte(tc.key)})
		if err != nil || (now != plain) != tc.wantKeyed || (former != "") != tc.wantFormer || len(now) != len(plain) {
			t.Errorf("%s: got %q, before %q, without a key %q, %v", tc.reason, now, former, plain, err)
		}

	}
}

func TestObjectDigest(t *testing.T) {
	t.Parallel()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}}
	sum := func(policy inventory.ReconcilePolicy, component string) string {
		digest, err := DigestOf(object, policy, component)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	plain := sum(inventory.ReconcilePolicyOnObjectChange, "c1")
	if plain != sum(inventory.ReconcilePolicyOnObjectChange, "c2") {
		t.Error("the component must not matter")
	}
	if sum(inventory.ReconcilePolicyOnObjectOrComponentChange, "c1") == sum(inventory.ReconcilePolicyOnObjectOrComponentChange, "c2") {
		t.Error("the component must matter")
	}
	if got := sum(inventory.ReconcilePolicyOnce, "c1"); got != "__once__" {
		t.Errorf("the digest that the ancestor recorded must be kept, got %q", got)
	}
}
