// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// secrets returns all Secrets of the namespace by their names.
func (p *place) secrets() map[string]corev1.Secret {
	p.Helper()
	secrets := &corev1.SecretList{}
	if err := p.client.List(p.Context(), secrets, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
	found := map[string]corev1.Secret{}
	for _, secret := range secrets.Items {
		found[secret.Name] = secret
	}
	return found
}

// TestRecordsAreNoDependents brings under the control of a release what is in a namespace, the records of releases
// included.
func TestRecordsAreNoDependents(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	app := p.file("app.yaml", manifestOf("one"))
	p.must("apply", "shop", app)
	before := p.secrets()
	var exported strings.Builder
	for _, secret := range before {
		secret.APIVersion, secret.Kind = "v1", "Secret"
		text, err := yaml.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&exported, "---\n%s", text)
	}
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\n"
	for _, tc := range []struct{ reason, release, manifest, message string }{
		{"all Secrets", "secrets", exported.String(), "Secret PLACE/clm.shop: type: clm.cs.sap.com/release is that of records of releases"},
		{"its own record among them", "shop", exported.String(), "metadata.labels: clm.cs.sap.com/inventory-owner-id marks parts of records of dependents; leave it out of the sources"},
		{"by name, its own record", "shop", fmt.Sprintf(secret, "clm.shop"), "Secret clm.shop: metadata.name: clm.shop is that of the record of the release"},
		{"by name, that of a new release", "new", fmt.Sprintf(secret, "clm.new"), "metadata.name: clm.new is that of the record of the release"},
		{"by name, that of another release", "other", fmt.Sprintf(secret, "clm.shop"), "Secret PLACE/clm.shop: already exists, is part of a record of dependents (label clm.cs.sap.com/record)"},
		{"a lock", "other", "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: clm.shop}\n", `Leases whose names begin with "clm." are locks of releases`},
		{
			"a record of an earlier clm", "other", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: com.sap.cs.clm.release.web}\n",
			"are records of releases of an earlier version of clm",
		},
		{
			"as a test", "other", "apiVersion: v1\nkind: Secret\nmetadata: {name: clm.other, annotations: {clm.cs.sap.com/release-hook: test}}\n",
			"metadata.name: clm.other is that of the record of the release",
		},
	} {
		for _, policy := range []string{"if-unowned", "always"} {
			got := p.clm("apply", tc.release, p.file("source.yaml", tc.manifest), "--adopt", policy)
			if got.code == 0 || !strings.Contains(p.stable(got.stderr), tc.message) || strings.Contains(got.stderr, "--adopt always") {
				t.Errorf("%s, adoption policy %s: want %q, got exit code %d: %s", tc.reason, policy, tc.message, got.code, got.stderr)
			}
		}
	}
	after := p.secrets()
	for name, secret := range before {
		if diff := cmp.Diff(secret, after[name]); diff != "" {
			t.Errorf("a record was changed (-before +after):\n%s", diff)
		}
	}
	p.expect(p.clm("apply", "shop", app), 0, "is up to date")
	p.must("delete", "other")
	p.must("delete", "shop")
	if owner := p.owner("one"); owner != "none" {
		t.Errorf("left behind: one, owned by %q", owner)
	}
}
