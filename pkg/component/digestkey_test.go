// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/records"
)

const secretAndHook = `{apiVersion: v1, kind: Secret, metadata: {name: made}, stringData: {password: weak}}
---
` + oneConfigMap + `
---
{apiVersion: v1, kind: Secret, metadata: {name: hook, annotations: {%s/deletion-hook: pre-delete}}, stringData: {password: weak}}
`

// digestsIn returns all that the status has of the content of Secrets.
func digestsIn(widget *Widget) map[string]string {
	declared, _, _ := strings.Cut(widget.Status.ProcessingDigest, records.MarkSeparator)
	found := map[string]string{"declared": declared, "last": widget.Status.LastProcessingDigest}
	for _, item := range widget.Status.Inventory {
		found[item.Kind] = item.Digest
	}
	if hooks := widget.Status.DeletionHooks; hooks != nil {
		found["hooks"], found["names"] = hooks.Checksum, strings.Join(hooks.Secrets, ",")
	}
	return found
}

// TestDigestsOfSecretsCannotBeGuessed compares statuses that differ in nothing but the identity of a Secret: if they
// are the same, whoever knows all else finds the content by trying.
func TestDigestsOfSecretsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secret := r.secret("credentials", map[string]string{"password": "weak"})
	r.create(secret)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(fmt.Sprintf(secretAndHook, r.name))
	widget.Spec.Password = &SecretKeyReference{Name: "credentials"}
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	before := digestsIn(widget)
	again := func() {
		t.Helper()
		r.delete(&corev1.Secret{ObjectMeta: secret.ObjectMeta})
		r.create(r.secret("credentials", map[string]string{"password": "weak"}))
	}

	// While the operator runs it knows that nothing has changed.
	again()
	await(r, widget, "another digest", func() bool { return digestsIn(widget)["declared"] != before["declared"] && widget.Status.IsReady() })
	r.settle(widget)
	diff(t, "revision", int64(1), widget.Status.Revision)
	now := digestsIn(widget)
	for what := range before {
		if changed := before[what] != now[what]; changed != (what != "ConfigMap") {
			t.Errorf("digest of %s depends on the identity of the Secret: %t", what, changed)
		}
	}

	// An operator without keys has recorded plain digests. That makes no new revision, and no write to a dependent.
	own := r.reconciler(ReconcilerOptions{})
	stop()
	stop = r.start(own)
	r.settle(widget)
	stop()
	bare := r.bareWorker(newWidget, "Widget")
	bare.referenced = r.watcher()
	p, err := bare.newPass(t.Context(), deepCopy(widget), nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := p.load(t.Context()); o.Kind != outcomes.Continue {
		t.Fatal(o.Message)
	}
	plain := p.declared.Digest.Former
	versions := r.versions()
	if plain == "" || plain == now["declared"] {
		t.Fatalf("unexpected plain digest %q", plain)
	}
	r.patchStatus(widget, fmt.Sprintf(`{"status":{"processingDigest":%q,"lastProcessingDigest":%q}}`, plain, plain))
	next := r.reconciler(ReconcilerOptions{})
	r.start(next)
	await(r, widget, "the keyed digest", func() bool { return digestsIn(widget)["last"] == now["last"] && widget.Status.IsReady() })
	r.settle(widget)
	diff(t, "revision after an update", int64(1), widget.Status.Revision)
	diff(t, "dependents after an update", versions, r.versions())
	testenv.Eventually(t, func() (bool, string) {
		return digestsIn(widget)["Secret"] == now["Secret"], "the digest of the Secret has changed"
	})
	r.delete(widget)
	r.awaitGone(widget)
}

func TestKeyedDigests(t *testing.T) {
	t.Parallel()
	one, other := secretUIDs{"spec.a": "1", "spec.b": "2"}, secretUIDs{"spec.a": "1", "spec.b": "3"}
	key := one.key()
	for _, test := range []struct {
		reason     string
		uids       secretUIDs
		remembered [2]string // plain and keyed
		recorded   string
		want       string
	}{
		{"without Secrets there is nothing to be guessed", nil, [2]string{}, "plain", "plain"},
		{"a version without keys has recorded it", one, [2]string{}, "plain", manifest.Keyed(key, "plain")},
		{"it is recorded", one, [2]string{}, manifest.Keyed(key, "plain"), manifest.Keyed(key, "plain")},
		{"something else is recorded", one, [2]string{}, "other", "other"},
		{"a Secret was recreated", other, [2]string{"plain", manifest.Keyed(key, "plain")}, manifest.Keyed(key, "plain"), manifest.Keyed(other.key(), "plain")},
		{"a Secret was recreated with another content", other, [2]string{"before", manifest.Keyed(key, "before")}, manifest.Keyed(key, "before"), manifest.Keyed(key, "before")},
		{"nothing is recorded", one, [2]string{}, "", ""},
	} {
		processing, last := test.recorded, test.recorded
		found := newDigest("plain", test.uids)
		found.recognize(&digestMemory{plain: test.remembered[0], keyed: test.remembered[1]}, &processing, &last)
		if processing != test.want || last != test.want {
			t.Errorf("%s: want %q, got %q and %q", test.reason, test.want, processing, last)
		}
	}
	if manifest.Keyed(key, "plain") == manifest.Keyed(other.key(), "plain") || manifest.Keyed(key, "plain") == "plain" {
		t.Error("want digests to depend on the key")
	}
}
