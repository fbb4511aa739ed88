// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/secrets"
	"github.com/component-operator/runtime/pkg/types"
)

// keyed generates a Secret with a password and a certificate. It is pure.
type keyed struct{}

func (keyed) Fingerprint() string { return "keyed" }

func (keyed) Generate(ctx context.Context, namespace, _ string, _ types.Unstructurable) ([]client.Object, error) {
	source, err := generator.SecretsFromContext(ctx)
	if err != nil {
		return nil, err
	}
	password, err := source.Password("database", secrets.PasswordOptions{})
	if err != nil {
		return nil, err
	}
	authority, err := source.Authority("ca", secrets.AuthorityOptions{})
	if err != nil {
		return nil, err
	}
	pair, err := authority.Sign("server", secrets.CertificateOptions{DNSNames: []string{"server"}})
	return []client.Object{&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "generated"},
		Data: map[string][]byte{"password": []byte(password), "certificate": pair.Certificate},
	}}, err
}

// generated returns the generated Secret.
func (r *rig) generated() map[string][]byte {
	r.tb.Helper()
	found := &corev1.Secret{}
	if err := r.client.Get(r.tb.Context(), client.ObjectKey{Namespace: r.namespace, Name: "generated"}, found); err != nil {
		r.tb.Fatal(err)
	}
	return found.Data
}

// TestGeneratedSecrets follows a component with generated secrets over restarts, a renewal, losses and its deletion.
func TestGeneratedSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := clocktesting.NewFakePassiveClock(time.Now())
	operator := func() *Reconciler[*Widget] {
		return NewReconciler[*Widget](r.name, keyed{}, ReconcilerOptions{GeneratedSecrets: true, Clock: now})
	}
	stop := r.start(operator())
	widget := r.widget("")
	r.create(widget)
	awaitReady(r, widget)
	first := r.generated()
	seed := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "widget.component-test.example.io.demo.seed"}}
	read := func() {
		t.Helper()
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(seed), seed); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if len(seed.Finalizers) != 1 || seed.Immutable == nil || !*seed.Immutable || widget.Status.Seed.Secret != seed.Name || widget.Status.Revision != 1 {
		t.Errorf("the seed is %+v, the status %+v", seed.ObjectMeta, widget.Status.Seed)
	}

	// Another process generates the same. Without its status, the component finds the seed.
	restart := func(change func()) {
		t.Helper()
		stop()
		change()
		stop = r.start(operator())
	}
	same := func(what string) {
		t.Helper()
		awaitReady(r, widget)
		if got := r.generated(); string(got["password"]) != string(first["password"]) || string(got["certificate"]) != string(first["certificate"]) {
			t.Errorf("%s: other secrets were generated", what)
		}
	}
	restart(func() { change(r, widget, func(w *Widget) { w.Spec.Name = "demo" }) })
	same("after a restart")
	restart(func() { r.wipe(widget) })
	same("without the status")

	// Certificates are renewed in time; passwords and the revision stay.
	revision := widget.Status.Revision
	restart(func() { now.SetTime(widget.Status.Seed.RenewAt.Add(time.Minute)) })
	await(r, widget, "the renewal", func() bool { return widget.Status.Seed.RenewedAt != nil && widget.Status.IsReady() })
	renewed := r.generated()
	block, _ := pem.Decode(renewed["certificate"])
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !certificate.NotAfter.After(now.Now().Add(60*24*time.Hour)) || string(renewed["password"]) != string(first["password"]) || widget.Status.Revision != revision {
		t.Errorf("after the renewal: %v, valid until %v, revision %d", err, certificate.NotAfter, widget.Status.Revision)
	}

	// Without the status, the operator still knows that the first certificate has ended.
	restart(func() { r.wipe(widget) })
	awaitReady(r, widget)
	block, _ = pem.Decode(r.generated()["certificate"])
	if certificate, err := x509.ParseCertificate(block.Bytes); err != nil || !certificate.NotAfter.After(now.Now().Add(30*24*time.Hour)) {
		t.Errorf("without the status: %v, valid until %v", err, certificate.NotAfter)
	}

	// A lost seed is named, and nothing is generated anew until somebody says so.
	lose := func() {
		t.Helper()
		read()
		seed.Finalizers = nil
		if err := r.client.Update(t.Context(), seed); err != nil {
			t.Fatal(err)
		}
		r.delete(seed)
	}
	refused := func(text string) {
		t.Helper()
		await(r, widget, text, func() bool {
			_, _, message := widget.Status.GetState()
			return strings.Contains(message, text)
		})
		if got := r.generated(); string(got["password"]) != string(first["password"]) {
			t.Error("another password was generated silently")
		}
	}
	restart(lose)
	refused("secrets cannot be generated: Secret " + r.namespace + "/widget.component-test.example.io.demo.seed does not exist any more; restore it, or accept other secrets from now on: kubectl patch widget demo -n " + r.namespace)
	accept := func() {
		t.Helper()
		if err := r.client.Status().Patch(t.Context(), widget, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"seed":{"checksum":""}}}`))); err != nil {
			t.Fatal(err)
		}
		change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/reconcile-at": time.Now().String()} })
		await(r, widget, "a new password", func() bool {
			return widget.Status.IsReady() && string(r.generated()["password"]) != string(first["password"])
		})
		first = r.generated()
	}
	accept()
	restart(func() { lose(); r.wipe(widget) })
	refused("does not exist, and the status of the component was lost")
	accept()

	r.delete(widget)
	r.awaitGone(widget)
	r.awaitGone(seed)
}

// TestRenewalInTime renews a certificate while the operator runs.
func TestRenewalInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := clocktesting.NewFakePassiveClock(time.Now())
	r.start(NewReconciler[*Widget](r.name, keyed{}, ReconcilerOptions{GeneratedSecrets: true, Clock: now}))
	widget := r.widget("")
	r.create(widget)
	awaitReady(r, widget)
	first := r.generated()
	now.SetTime(widget.Status.Seed.RenewAt.Time)
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/reconcile-at": "now"} })
	await(r, widget, "the renewal", func() bool { return widget.Status.Seed.RenewedAt != nil && widget.Status.IsReady() })
	if got := r.generated(); string(got["certificate"]) == string(first["certificate"]) || widget.Status.Revision != 1 {
		t.Errorf("the certificate was not renewed, or revision %d", widget.Status.Revision)
	}
}

// TestSeedStaysWithItsDependents: what is orphaned may have generated secrets, which the next component needs.
func TestSeedStaysWithItsDependents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(NewReconciler[*Widget](r.name, keyed{}, ReconcilerOptions{GeneratedSecrets: true, DeletePolicy: new(reconciler.DeletePolicyOrphan)}))
	widget := r.widget("")
	r.create(widget)
	awaitReady(r, widget)
	first := r.generated()
	r.delete(widget)
	r.awaitGone(widget)
	widget = r.widget("")
	r.create(widget)
	awaitReady(r, widget)
	if got := r.generated(); string(got["password"]) != string(first["password"]) {
		t.Error("the component has another password than its predecessor, whose dependents stayed")
	}
}

// TestSecretsWithoutTheOption names the option.
func TestSecretsWithoutTheOption(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(NewReconciler[*Widget](r.name, keyed{}, ReconcilerOptions{}))
	widget := r.widget("")
	r.create(widget)
	await(r, widget, "the error", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, "reconcilers need the option GeneratedSecrets for it")
	})
}
