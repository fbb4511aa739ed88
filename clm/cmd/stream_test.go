// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestEventsAreHarmless shows an event whose author wants to command the terminal, and to invent further events.
func TestEventsAreHarmless(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
	object := &corev1.ConfigMap{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "a"}, object); err != nil {
		t.Fatal(err)
	}
	const evil = "\x1b]0;title\a\nfurther"
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "evil"},
		Type:       evil, Reason: evil, Message: evil, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: evil, Namespace: p.namespace, Name: evil, UID: object.UID},
	}
	if err := p.client.Create(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	got := p.must("events", "web").stdout
	if strings.ContainsAny(got, "\x1b\a") || strings.Count(got, "\n") != 2 {
		t.Errorf("want a heading and one harmless line, got %q", got)
	}
	p.must("delete", "web", "-y")
}
