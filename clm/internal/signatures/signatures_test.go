// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package signatures

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/helm/remote"
)

// policy is a policy with everything that one can have.
const policy = `
signatures:
- source: oci://ghcr.io/acme/
  namespace: prod
  signers:
  - cosign: {key: keys/acme.pub, insecure-ignore-tlog: true, trusted-root: /etc/root.json, annotations: "a=b,c=d"}
  - cosign: {key: awskms:///alias/acme}
  - cosign: {certificate-identity: https://ci, certificate-oidc-issuer: https://issuer}
  - keyring: keys/acme.gpg
- signers: [{keyring: /a.gpg}]
`

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse([]byte(policy), "/etc/clm")
	want := []entry{
		{Source: "oci://ghcr.io/acme/", Namespace: "prod", Signers: []remote.Signer{
			{Cosign: map[string]string{"key": "/etc/clm/keys/acme.pub", "insecure-ignore-tlog": "true", "trusted-root": "/etc/root.json", "annotations": "a=b,c=d"}},
			{Cosign: map[string]string{"key": "awskms:///alias/acme"}},
			{Cosign: map[string]string{"certificate-identity": "https://ci", "certificate-oidc-issuer": "https://issuer"}},
			{Keyring: "/etc/clm/keys/acme.gpg"},
		}},
		{Signers: []remote.Signer{{Keyring: "/a.gpg"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, unexpected entries (-want +got):\n%s", err, diff)
	}

	for content, want := range map[string]string{
		"":                       "signatures is empty; must be a list of entries, each with signers",
		"signatures: []":         "signatures is empty; must be a list of entries, each with signers",
		"signature: []":          `unknown field "signature"`,
		"signatures: []\na: [":   "yaml: line 2: did not find expected node content",
		"signatures:\n---\na: 1": "line 3: another value begins here; a document may contain only one, and documents are separated by lines with ---",
		"signatures:\nsignatures: [{signers: [{keyring: a}]}]":               `line 2: key "signatures" is already set on line 1; a key may occur only once in a map`,
		"signatures: [{source: a}]":                                          "signatures[0].signers is empty; must have one signer at least",
		"signatures: [{signers: [{keyring: a}]}, {names: b}]":                `signatures[1]: unknown field "names"`,
		"signatures: [{signers: {keyring: a}}]":                              "signatures[0]: cannot unmarshal object into Go struct field entry.signers of type []remote.Signer",
		"signatures: [{signers: [{keyring: a}, {}]}]":                        "signatures[0].signers[1]: a signer must have either keyring or cosign",
		"signatures: [{signers: [{cosign: {key: a, check-claims: false}}]}]": `signatures[0].signers[0]: cosign: "check-claims" is not allowed; must be a flag of cosign verify that says who must have signed, without dashes`,
	} {
		if _, err := parse([]byte(content), ""); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %q", content, err, want)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		source string
		covers []string
		not    []string
	}{
		{"oci://ghcr.io/acme/", []string{"oci://ghcr.io/acme/web", "oci://ghcr.io/acme/a/b:1"}, []string{"oci://ghcr.io/acme-evil/web", "oci://ghcr.io/ac", "https://ghcr.io/acme/web"}},
		{"oci://ghcr.io/acme/web", []string{"oci://ghcr.io/acme/web", "oci://ghcr.io/acme/web:1", "oci://ghcr.io/acme/web@sha256:1", "oci://ghcr.io/acme/web//a"}, []string{"oci://ghcr.io/acme/web2"}},
		{"oci://ghcr.io", []string{"oci://ghcr.io/acme"}, []string{"oci://ghcr.io:5000/acme", "oci://ghcr.io.example.com/acme"}},
		{"oci://", []string{"oci://ghcr.io/acme"}, []string{"https://ghcr.io"}},
		{"https://charts.example.com/a", []string{"https://charts.example.com/a#web"}, []string{"https://charts.example.com/ab#web"}},
		{"git::https://example.com/a", []string{"git::https://example.com/a?ref=b"}, []string{"git::https://example.com/a.git"}},
		{"charts/", []string{"charts/web"}, []string{"charts2/web"}},
	} {
		for _, reference := range append(test.covers, test.not...) {
			if got := (entry{Source: test.source}).covers(reference); got != slices.Contains(test.covers, reference) {
				t.Errorf("%s covers %s: got %t", test.source, reference, got)
			}
		}
	}
}

// TestWhereThePolicyIs finds it in the user's folder for configuration, if it is there.
//
//nolint:paralleltest // an environment variable says where the folder is
func TestWhereThePolicyIs(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	got, err := Require(remote.Options{}, "web", "")
	if err != nil || got.Signatures != nil {
		t.Errorf("want no demands without a policy, got %v, %v", got.Signatures, err)
	}
	folder, err := os.UserConfigDir()
	if err == nil {
		err = os.MkdirAll(filepath.Join(folder, "clm"), 0o700)
	}
	path := filepath.Join(folder, "clm", "signatures.yaml")
	if err == nil {
		err = os.WriteFile(path, []byte(policy), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err = Require(remote.Options{}, "web", "")
	want := []remote.Demand{{By: "signatures[1] of " + path, Signers: []remote.Signer{{Keyring: "/a.gpg"}}}}
	if diff := cmp.Diff(want, got.Signatures); diff != "" || err != nil {
		t.Errorf("%v, unexpected demands (-want +got):\n%s", err, diff)
	}
}
