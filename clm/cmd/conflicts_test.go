// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestFieldsOfOthers applies objects of which others have changed fields.
func TestFieldsOfOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("first.yaml", configMap("a", "1")+configMap("b", "1")))
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "a"}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"value":"theirs","more":"theirs"}}`))
	if err := p.client.Patch(t.Context(), theirs, patch, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	second := p.file("second.yaml", configMap("a", "2")+configMap("b", "2"))
	before := p.versions()
	want := "Error: ConfigMap PLACE/a: .data.value belongs to somebody\n" +
		"fields with other values belong to other field managers; to take them over: --conflicts=force; to take over only those that the manifest changes: --conflicts=keep\n"
	for _, args := range [][]string{{"plan", "web", second}, {"apply", "web", second}, {"apply", "web", second, "--dry-run"}} {
		got := p.expect(p.clm(append(args, "--conflicts=refuse")...), exitRefused)
		if diff := cmp.Diff(strings.ReplaceAll(want, "PLACE", p.namespace), got.stderr); diff != "" {
			t.Errorf("clm %s (-want +got)\n%s", args[0], diff)
		}
	}
	if diff := cmp.Diff(before, p.versions()); diff != "" {
		t.Errorf("something was done (-before +after):\n%s", diff)
	}
	// A field that has the wanted value already is no conflict.
	same := p.file("same.yaml", configMap("a", "theirs")+configMap("b", "2"))
	p.must("apply", "web", same, "--conflicts=refuse")
	if data := p.configMap("a"); data["value"] != "theirs" || data["more"] != "theirs" {
		t.Errorf("want the fields of others, got %v", data)
	}
	p.must("apply", "web", second)
	if data := p.configMap("a"); data["value"] != "2" {
		t.Errorf("want the field to be taken, got %v", data)
	}
	p.must("delete", "web")
}
