// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/component-operator/runtime/clm/internal/signatures"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/internal/testenv"
)

const (
	signer = "https://ci.example.com/acme/release"
	issuer = "https://issuer.example.com"
)

// authority writes the key of somebody with a certificate of an own authority, as Fulcio issues it, to the folder.
func authority(t *testing.T, folder string) {
	t.Helper()
	identity, err := url.Parse(signer)
	own, ownErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, keyErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	by, byErr := asn1.MarshalWithParams(issuer, "utf8")
	if err := errors.Join(err, ownErr, keyErr, byErr); err != nil {
		t.Fatal(err)
	}
	issuing := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	issued := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: issuing.NotBefore, NotAfter: issuing.NotAfter, URIs: []*url.URL{identity},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte(issuer)}, // for signatures as before version 3
			{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}, Value: by},
		},
	}
	root, err := x509.CreateCertificate(rand.Reader, issuing, issuing, own.Public(), own)
	leaf, leafErr := x509.CreateCertificate(rand.Reader, issued, issuing, key.Public(), own)
	private, privateErr := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err, leafErr, privateErr); err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"authority.pem": {Type: "CERTIFICATE", Bytes: root}, "ci.pem": {Type: "CERTIFICATE", Bytes: leaf}, "ci.private": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSignatures verifies signatures that cosign has made, as a policy demands them.
//
//nolint:paralleltest // environment variables say where the policy and cosign are
func TestSignatures(t *testing.T) {
	folder, cosign := testenv.Cosign(t)
	p, version := newPusher(t), "1.0.0"
	web := layer{"", chartContent, chart("web", files{"a.yaml": configMap("a", "x: y")}).archive(t)}
	changed := layer{"", chartContent, chart("web", files{"a.yaml": configMap("a", "x: z")}).archive(t)}
	site := layer{"", fluxContent, files{"deploy/kustomization.yaml": "resources: [a.yaml]", "deploy/a.yaml": configMap("a", "x: y")}.archive(t)}
	image := func(name string) string { return " " + p.host + "/" + name + ":" + version }
	const sign = "sign -y --signing-config signing.json --trusted-root root.json --key "
	for _, name := range []string{"acme/web", "acme/none", "acme/attested", "acme/before", "acme-evil/web", "acme/ci", "acme/ci-before"} {
		p.push(name, version, chartConfig, web)
	}
	p.push("acme/site", version, fluxConfig, site)
	signed := p.push("acme/moved", version, chartConfig, web)
	authority(t, folder)
	cosign("generate-key-pair --output-key-prefix a")
	cosign("generate-key-pair --output-key-prefix b")
	cosign("import-key-pair --key ci.private --output-key-prefix ci")
	cosign("trusted-root create --fulcio=url=https://fulcio.example.com,certificate-chain=authority.pem --out authority.json")
	for _, name := range []string{"acme/web", "acme/site", "acme/moved"} {
		cosign(sign + "a.key" + image(name))
	}
	const before = "sign -y --tlog-upload=false --new-bundle-format=false --use-signing-config=false --key "
	cosign(before + "a.key" + image("acme/before"))
	cosign(before + "ci.key --certificate ci.pem --certificate-chain authority.pem" + image("acme/ci-before"))
	cosign(strings.Replace(sign, "root.json", "authority.json", 1) + "ci.key --certificate ci.pem" + image("acme/ci"))
	cosign("attest -y --signing-config signing.json --trusted-root root.json --key a.key --type custom --predicate root.json" + image("acme/attested"))
	p.push("acme/moved", version, chartConfig, changed)
	repository := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(writer, "entries: {web: [{version: 1.0.0, urls: ['oci://%s/acme/web']}], none: [{version: 1.0.0, urls: ['oci://%[1]s/acme/none']}]}", p.host)
	}))
	t.Cleanup(repository.Close)
	content, err := os.ReadFile(filepath.Join(folder, "a.pub"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(content)
	byA := fmt.Sprintf("cosign key sha256:%x", sha256.Sum256(block.Bytes))
	err = errors.Join(os.WriteFile(filepath.Join(folder, "repositories.yaml"), []byte("repositories: [{name: shop, url: '"+repository.URL+"/stable'}]"), 0o600),
		os.WriteFile(filepath.Join(folder, "objects.yaml"), []byte(configMap("a", "x: y")), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HELM_REPOSITORY_CONFIG", filepath.Join(folder, "repositories.yaml"))
	policy := filepath.Join(folder, "policy.yaml")
	t.Setenv(signatures.Variable, policy)

	keys := strings.NewReplacer("A!", "cosign: {key: a.pub, insecure-ignore-tlog: true}", "B!", "cosign: {key: b.pub, insecure-ignore-tlog: true}",
		"CI!", "trusted-root: authority.json, insecure-ignore-tlog: true, insecure-ignore-sct: true", "HOST", p.host, "REPOSITORY", repository.URL)
	demand := func(key string) []remote.Demand {
		flags := map[string]string{"key": filepath.Join(folder, key), "insecure-ignore-tlog": "true"}
		return []remote.Demand{{By: "--cosign-key", Signers: []remote.Signer{{Cosign: flags}}}}
	}
	const byKey, none = "- signers: [{A!}]", "cosign verify: exit status 10: no signatures found"
	const identity = "- signers: [{cosign: {certificate-identity: " + signer + ", certificate-oidc-issuer: " + issuer + ", CI!}}]"
	const first = "- {source: 'oci://HOST', namespace: prod, signers: [{B!}]}\n- {source: 'oci://HOST/acme/', signers: [{A!}]}\n- signers: [{B!}]"
	for _, test := range []struct {
		reason, policy, namespace string
		given                     []remote.Demand
		source, signedBy, err     string
	}{
		{"by the key", byKey, "", nil, "oci://HOST/acme/web", byA, ""},
		{"by the key, as before version 3", byKey, "", nil, "oci://HOST/acme/before:1.0.0", byA, ""},
		{"by the first key, during a rotation", "- signers: [{A!}, {B!}]", "", nil, "oci://HOST/acme/web", byA, ""},
		{"by the second key", "- signers: [{B!}, {keyring: none.gpg}, {A!}]", "", nil, "oci://HOST/acme/web", byA, ""},
		{
			"by another key", "- signers: [{B!}, {keyring: none.gpg}]", "", nil, "oci://HOST/acme/web", "",
			"loading oci://HOST/acme/web: pulling HOST/acme/web:1.0.0: signatures[0] of " + policy + " demands a signature: cosign key " + folder + "/b.pub: " +
				"cosign verify: exit status 1: no matching attestations: failed to verify signature: ",
		},
		{"and why the other does not count", "- signers: [{B!}, {keyring: none.gpg}]", "", nil, "oci://HOST/acme/web", "", "; keyring " + folder + "/none.gpg: it has no such signature: only packaged charts have one"},
		{"by nobody", byKey, "", nil, "oci://HOST/acme/none", "", none},
		{"an attestation is no signature", byKey, "", nil, "oci://HOST/acme/attested", "", "there are only attestations (https://cosign.sigstore.dev/attestation/v1), which cosign verify accepts"},
		{"the tag was moved", byKey, "", nil, "oci://HOST/acme/moved:1.0.0", "", none},
		{"what the tag was before", byKey, "", nil, "oci://HOST/acme/moved@" + signed, byA, ""},
		{"an artifact", byKey, "", nil, "oci://HOST/acme/site//deploy:1.0.0", byA, ""},
		{"an identity", identity, "", nil, "oci://HOST/acme/ci", signer + " (" + issuer + ")", ""},
		{"an identity, as before version 3", strings.Replace(identity, "-identity: "+signer, "-identity-regexp: ^https://ci", 1), "", nil, "oci://HOST/acme/ci-before", signer + " (" + issuer + ")", ""},
		{"an identity that matches", strings.Replace(identity, "-identity: "+signer, "-identity-regexp: ^https://ci", 1), "", nil, "oci://HOST/acme/ci", "^https://ci (" + issuer + ")", ""},
		{"another identity", strings.ReplaceAll(identity, "acme", "other"), "", nil, "oci://HOST/acme/ci", "", `expected SAN value "https://ci.example.com/other/release", got "` + signer + `"`},
		{"another issuer", strings.ReplaceAll(identity, "issuer.", "other."), "", nil, "oci://HOST/acme/ci", "", "cosign verify: exit status 1: no matching attestations: "},
		{"the prefix, not the catch-all", first, "", nil, "oci://HOST/acme/web", byA, ""},
		{"upper case and escapes are no way around it", first, "", nil, "OCI://HOST/%61cme/web", byA, ""},
		{"the prefix ends with its last name", first, "", nil, "oci://HOST/acme-evil/web", "", "signatures[2] of " + policy + " demands a signature"},
		{"of the namespace", first, "prod", nil, "oci://HOST/acme/web", "", "signatures[0] of " + policy + " demands a signature"},
		{"without an entry for it", "- {source: 'oci://HOST/acme', namespace: prod, signers: [{A!}]}", "shop", nil, "oci://HOST/acme/none", "", ""},
		{"both agree", byKey, "", demand("a.pub"), "oci://HOST/acme/web", byA, ""},
		{"the policy holds, the flag does not", byKey, "", demand("b.pub"), "oci://HOST/acme/web", "", "--cosign-key demands a signature: "},
		{"the flag holds, the policy does not", "- signers: [{B!}]", "", demand("a.pub"), "oci://HOST/acme/web", "", "signatures[0] of " + policy + " demands a signature: "},
		{"an index that leads to a registry", "- {source: 'REPOSITORY/stable', signers: [{A!}]}", "", nil, "REPOSITORY/stable#web", byA, ""},
		{"the same by the name of the repository", "- {source: 'REPOSITORY/stable#none', signers: [{A!}]}", "", nil, "shop/none", "", none},
		{"or its name in the policy", "- {source: shop, signers: [{A!}]}", "", nil, "shop/none", "", none},
		{"a file", byKey, "", nil, filepath.Join(folder, "objects.yaml"), "", "it has no such signature: only charts and artifacts in registries have one"},
		{"a file at a URL", byKey, "", nil, "REPOSITORY/objects.yaml", "", "it has no such signature: only charts and artifacts in registries have one"},
		{"Git", byKey, "", nil, "git::https://HOST/web", "", "signatures[0] of " + policy + " demands a signature, but only packaged charts, and charts and artifacts in registries, can have one"},
		{"standard input", byKey, "", nil, "-", "", "loading standard input: signatures[0] of " + policy + " demands a signature, but only packaged charts"},
	} {
		if err := os.WriteFile(policy, []byte("signatures:\n"+keys.Replace(test.policy)), 0o600); err != nil {
			t.Fatal(err)
		}
		options := sources.Options{Namespace: test.namespace, Remote: remote.Options{PlainHTTP: true, Signatures: test.given}, Stdin: strings.NewReader("")}
		set, err := sources.Load(t.Context(), []string{keys.Replace(test.source)}, options)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), keys.Replace(test.err)) {
				t.Errorf("%s: got error %v, want one with %q", test.reason, err, test.err)
			}
		case err != nil:
			t.Errorf("%s: %v", test.reason, err)
		case set.Sources()[0].SignedBy != test.signedBy:
			t.Errorf("%s: got signed by %q, want %q", test.reason, set.Sources()[0].SignedBy, test.signedBy)
		}
	}
}
