// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
)

func TestList(t *testing.T) {
	t.Parallel()
	w, other, unique := newWorld(t), testenv.Namespace(t), testenv.UniqueName(t)
	t.Cleanup(func() { w.letGo(other) })
	w.create("b")
	w.createWith(items(60, "a"))
	elsewhere := w.newRelease(unique)
	elsewhere.Namespace = other
	w.must(w.store.AddRevision(t.Context(), elsewhere, firstRevision(), content(1, "a")))
	w.must(w.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "foreign", Labels: map[string]string{recordLabel: recordRelease},
	}}))
	list, err := w.store.List(t.Context(), w.namespace, nil)
	w.must(err)
	if len(list) != 2 || list[0].Name != "b" || list[1].Name != "demo" || list[1].Current().Objects != 10 || list[1].Problem != "" {
		t.Fatalf("got %v", list)
	}
	if err := w.store.Save(t.Context(), list[1]); err == nil || !strings.Contains(err.Error(), "read without its inventory") {
		t.Errorf("want the save to be refused, got %v", err)
	}
	all, err := w.store.List(t.Context(), "", nil)
	w.must(err)
	found := 0
	for _, release := range all {
		if release.Namespace == w.namespace || release.Namespace == other {
			found++
		}
	}
	if found != 3 {
		t.Errorf("want 3 releases in both namespaces, got %d", found)
	}
	names, err := w.store.Names(t.Context(), w.namespace)
	w.must(err)
	if got := fmt.Sprint(names); got != fmt.Sprintf("[%[1]s/b %[1]s/demo]", w.namespace) {
		t.Errorf("got %s", got)
	}
	nearby, err := w.store.Nearby(t.Context(), w.namespace, unique)
	w.must(err)
	if got, want := strings.Join(nearby, " "), other+"/"+unique+" "+w.namespace+"/b "+w.namespace+"/demo"; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}
