// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const signedReport = `[{"critical": {"type": "https://sigstore.dev/cosign/sign/v1"}, "optional": {"Subject": "somebody else"}}]`

// fakeCosign makes a shell script the only program cosign, and returns the folder in which it runs.
func fakeCosign(t *testing.T, script string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "cosign"), []byte("#!/bin/sh\ncd "+folder+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	t.Setenv("HELM_REGISTRY_CONFIG", filepath.Join(folder, "helm.json"))
	t.Setenv("DOCKER_CONFIG", folder)
	return folder
}

func cosignDemand(flags map[string]string) []Demand {
	return []Demand{{By: "--cosign-key", Signers: []Signer{{Cosign: flags}}}}
}

// TestCosignIsTold has a program in the place of cosign that records what it gets.
//
//nolint:paralleltest // environment variables say where cosign and the credentials are
func TestCosignIsTold(t *testing.T) {
	s := newRegistry(t, "1.0.0")
	s.username, s.password = "me", "secret"
	folder := fakeCosign(t, `echo "$@" > arguments; cat "$DOCKER_CONFIG/config.json" > credentials 2>&1; echo '`+signedReport+"'\n")
	read := func(name string) string {
		content, _ := os.ReadFile(filepath.Join(folder, name))
		return strings.ReplaceAll(string(content), s.host, "HOST")
	}
	flags := map[string]string{"certificate-identity-regexp": "^https://ci", "certificate-oidc-issuer": "https://issuer", "annotations": "a=b", "insecure-ignore-tlog": "true"}
	options := Options{Username: "me", Password: "secret", Signatures: cosignDemand(flags)}
	fetched, err := s.fetch("oci://HOST/charts/web", options)
	if err != nil || fetched.SignedBy != "^https://ci (https://issuer)" { // what the signature says of itself does not count
		t.Fatalf("got %q, %v", fetched.SignedBy, err)
	}
	want := "verify --check-claims=true --local-image=false --output=json --annotations=a=b --certificate-identity-regexp=^https://ci " +
		"--certificate-oidc-issuer=https://issuer --insecure-ignore-tlog=true --registry-cacert=" + s.caFile + " -- HOST/charts/web@" + fetched.Digest + "\n"
	if got := read("arguments"); got != want {
		t.Errorf("got arguments %s, want %s", got, want)
	}
	const stored = `"HOST": {` // user name and password are encoded
	if got := read("credentials"); !strings.Contains(got, stored) || !strings.Contains(got, "bWU6c2VjcmV0") {
		t.Errorf("want the credentials for the host, got %s", got)
	}

	if err := os.WriteFile(filepath.Join(folder, "helm.json"), []byte(`{"auths": {"`+s.host+`": {"auth": "bWU6c2VjcmV0"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	options.Username, options.Password = "", ""
	if _, err := s.fetch("oci://HOST/charts/web", options); err != nil || !strings.Contains(read("credentials"), stored) {
		t.Errorf("want those of Helm, got %s, %v", read("credentials"), err)
	}
	if err := os.Rename(filepath.Join(folder, "helm.json"), filepath.Join(folder, "config.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.fetch("oci://HOST/charts/web", options); err != nil || read("credentials") != read("config.json") {
		t.Errorf("want those of Docker to stay where they are, got %s, %v", read("credentials"), err)
	}
}

// TestCosignFails shows what is said if cosign does not verify anything.
//
//nolint:paralleltest // environment variables say where cosign is
func TestCosignFails(t *testing.T) {
	s := newRegistry(t, "1.0.0")
	options := Options{Signatures: cosignDemand(map[string]string{"key": "a.pub"})}
	const begin = "pulling HOST/charts/web:1.0.0: --cosign-key demands a signature: cosign key a.pub: "
	for _, test := range []struct{ reason, script, want string }{
		{"several lines", "echo 'WARNING: a' >&2; echo 'Error: b' >&2; printf 'error during command execution: no\\n matching' >&2; exit 12", "cosign verify: exit status 12: no matching"},
		{"nothing", "exit 3", "cosign verify: exit status 3"},
		{"a success without a report", "", "parsing what cosign verify has printed: unexpected end of JSON input"},
		{"help", "echo Usage:", "parsing what cosign verify has printed: invalid character 'U'"},
		{"no signature", "echo '[]'", "there are only attestations ()"},
		{"without an end", "yes", "cosign verify: "},
	} {
		fakeCosign(t, test.script)
		_, err := s.fetch("oci://HOST/charts/web", options)
		s.expectError(test.reason, err, begin+test.want)
	}

	t.Setenv("PATH", t.TempDir())
	_, err := s.fetch("oci://HOST/charts/web", options)
	s.expectError("no cosign", err, begin+"the program cosign, version 3 or later, is needed to verify this, and is not in PATH")

	folder := fakeCosign(t, "mkfifo here; cat here here")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(folder, "here")); err == nil {
				cancel(errors.New("enough"))
				return
			}
		}
	}()
	reference, err := Parse("oci://" + s.host + "/charts/web")
	if err == nil {
		options.CAFile = s.caFile
		_, err = reference.Fetch(ctx, options)
	}
	s.expectError("it hangs", err, begin+"enough")
}

func TestSignerCheck(t *testing.T) {
	t.Parallel()
	const incomplete = "cosign: must have either key (or sk), or certificate-identity and certificate-oidc-issuer"
	for _, test := range []struct {
		signer Signer
		want   string
	}{
		{Signer{}, "a signer must have either keyring or cosign"},
		{Signer{Keyring: "a", Cosign: map[string]string{"key": "b"}}, "a signer must have either keyring or cosign"},
		{Signer{Cosign: map[string]string{}}, incomplete},
		{Signer{Cosign: map[string]string{"certificate-identity": "a"}}, incomplete},
		{Signer{Cosign: map[string]string{"certificate-oidc-issuer-regexp": ".*"}}, incomplete},
		{Signer{Cosign: map[string]string{"key": "a", "certificate-oidc-issuer": "b"}}, incomplete},
		{Signer{Cosign: map[string]string{"key": "a", "key=x --y": "b"}}, `cosign: "key=x --y" is not allowed`},
		{Signer{Cosign: map[string]string{"sk": "true", "slot": "signature"}}, ""},
		{Signer{Cosign: map[string]string{"certificate-identity-regexp": "a", "certificate-oidc-issuer-regexp": "b", "certificate-github-workflow-ref": "c"}}, ""},
	} {
		if err := test.signer.Check(); test.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.signer, err, test.want)
		}
	}
	for flag := range strings.FieldsSeq(`check-claims local-image output output-file payload signature attachment attachment-tag-prefix registry-username registry-password
		registry-token registry-cacert registry-client-cert registry-server-name allow-http-registry allow-insecure-registry k8s-keychain help o`) {
		if err := (Signer{Cosign: map[string]string{"key": "a", flag: "b"}}).Check(); err == nil {
			t.Errorf("%s: want it to be refused", flag)
		}
	}
	// A demand without signers fails closed.
	if signedBy, err := Verify("a.tgz", []Demand{{By: "it"}}); err == nil || err.Error() != "it demands a signature: nobody may have signed" {
		t.Errorf("got %q, %v", signedBy, err)
	}
}
