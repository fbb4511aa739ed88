// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
)

// forge replaces a chunk by one with another content, as a user can who may write Secrets.
func (w *world) forge(name string) {
	w.Helper()
	secret := &corev1.Secret{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, secret))
	w.lose(name)
	packed, err := chunks.Pack([]byte("something else"))
	w.must(err)
	secret.UID, secret.ResourceVersion, secret.Finalizers = "", "", nil
	for key := range secret.Data {
		secret.Data[key] = packed
	}
	w.must(w.client.Create(w.Context(), secret))
}

// TestFullIndex has revisions with long descriptions.
func TestFullIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.create("demo")
	for release.Current().Number < 4 {
		w.must(w.store.AddRevision(t.Context(), release, Revision{Description: strings.Repeat("x", 300_000)}, content(1, fmt.Sprint(release.Current().Number))))
	}
	before, writes := w.get("demo"), w.writes()
	err := w.store.AddRevision(t.Context(), release, Revision{Description: strings.Repeat("x", 300_000)}, content(1, "5"))
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "including 5 revisions; must be at most 1048576; to keep fewer revisions: --history-max") {
		t.Errorf("got %v", err)
	}
	if w.writes() != writes {
		t.Errorf("want nothing to be written, got:\n%s", w.requests)
	}
	w.equal("record", before, release)
}
