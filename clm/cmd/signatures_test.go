// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"testing"

	"github.com/component-operator/runtime/clm/internal/signatures"
	"github.com/component-operator/runtime/internal/testenv"
)

const sign = "sign -y --signing-config signing.json --trusted-root root.json --key "

// TestCosignInARegistry verifies charts in a registry with a password and a certificate of its own, with flags and with a policy.
//
//nolint:paralleltest // environment variables say where cosign, the policy and Helm's files are
func TestCosignInARegistry(t *testing.T) {
	h, r := newHelmHome(t), newSecureRegistry(t)
	folder, cosign := testenv.Cosign(t)
	t.Setenv("COSIGN_INSECURE_IGNORE_TLOG", "true")
	chart := h.write(map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": configMap("a", "1")})
	access, web := []string{"--ca-file", r.caFile, "--username", "me", "--password", "secret"}, "oci://"+r.host+"/charts/web"
	given := func(args ...string) []string { return append(args, access...) }
	h.expect("it is packaged", []string{"package", chart, "-d", folder}, "Saved: ")
	h.expect("it is pushed", given("push", filepath.Join(folder, "web-1.0.0.tgz"), "oci://"+r.host+"/charts"), "Pushed: ")
	cosign("generate-key-pair --output-key-prefix a")
	a := filepath.Join(folder, "a.pub")

	h.expectError("it is not signed", given("template", "web", web, "--cosign-key", a), "--cosign-key demands a signature: cosign key "+a+": cosign verify: exit status 10: no signatures found")
	cosign(sign + "a.key --registry-username me --registry-password secret --registry-cacert " + r.caFile + " " + r.host + "/charts/web:1.0.0")
	h.expect("it is signed", given("template", "web", web, "--cosign-key", a), "name: a")
	h.expect("it can be shown", given("show", "chart", web, "--cosign-key", a), "name: web")
	h.expectError("but not signed by Helm, too", given("pull", web, "--cosign-key", a, "--verify"), "--verify demands a signature: keyring ")
	h.expectError("an identity needs an issuer", given("show", "chart", web, "--certificate-identity", "me"), "flag --certificate-identity: cosign: must have either key (or sk), or certificate-identity and")
	if got := h.clm(given("registry", "login", r.host)...); got.code != 0 {
		t.Fatal(got.stderr)
	}
	access = []string{"--ca-file", r.caFile}
	h.expect("with the stored password", given("images", web, "--cosign-key", a), "")

	policy := h.write(map[string]string{
		"policy.yaml": "signatures:\n- {namespace: prod, signers: [{cosign: {key: b.pub}}]}\n- signers: [{cosign: {key: " + a + "}}]\n",
	})
	t.Setenv(signatures.Variable, filepath.Join(policy, "policy.yaml"))
	h.expect("as the policy demands", given("template", "web", web), "name: a")
	h.expect("a chart without a namespace", given("show", "chart", web, "-n", "prod"), "name: web")
	h.expect("the same", given("pull", web, "-n", "prod", "-d", t.TempDir()), "Saved: ")
	for _, command := range []string{"template", "images", "rbac", "lint"} {
		args := []string{command, "web", web, "-n", "prod"}
		if command == "lint" || command == "images" {
			args = []string{command, web, "-n", "prod"}
		}
		h.expectError(command, given(args...), "signatures[0] of "+policy+"/policy.yaml demands a signature: cosign key "+policy+"/b.pub: cosign verify: ")
	}
	t.Setenv(signatures.Variable, filepath.Join(folder, "none.yaml"))
	h.expectError("there is no such policy", given("show", "chart", web), "reading the policy about signatures, "+folder+"/none.yaml: the file that CLM_SIGNATURES names does not exist")
}

// TestPolicyAboutSignatures applies what a policy allows, and shows who has signed it.
//
//nolint:paralleltest // environment variables say where cosign, the policy and Helm's files are
func TestPolicyAboutSignatures(t *testing.T) {
	p, h, r := newPlace(t), newHelmHome(t), newSecureRegistry(t)
	folder, cosign := testenv.Cosign(t)
	chart := h.write(map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": configMap("a", "1")})
	access := []string{"--ca-file", r.caFile, "--username", "me", "--password", "secret"}
	p.must("package", chart, "-d", folder)
	p.must(append(access, "push", filepath.Join(folder, "web-1.0.0.tgz"), "oci://"+r.host+"/charts")...)
	cosign("generate-key-pair --output-key-prefix a")
	policy, file := filepath.Join(folder, "policy.yaml"), filepath.Join(folder, "releases.yaml")
	p.write(policy, "signatures:\n- {namespace: "+p.namespace+", signers: [{cosign: {key: a.pub, insecure-ignore-tlog: true}}]}\n")
	p.write(file, "{name: "+p.namespace+", releases: [{name: a, sources: [a.yaml]}]}")
	p.write(filepath.Join(folder, "a.yaml"), configMap("b", "1"))
	t.Setenv(signatures.Variable, policy)

	apply := append(access, "apply", "web", "oci://"+r.host+"/charts/web")
	demand := "signatures[0] of " + policy + " demands a signature: cosign key " + folder + "/a.pub: "
	p.expect(p.clm(apply...), 1, demand+"cosign verify: exit status 10: no signatures found")
	p.expect(p.clm("up", "-f", file), 1, demand+"it has no such signature: only charts and artifacts in registries have one")
	cosign(sign + "a.key --registry-username me --registry-password secret --registry-cacert " + r.caFile + " " + r.host + "/charts/web:1.0.0")
	p.must(apply...)
	p.expect(p.must("status", "web"), 0, "signed by cosign key sha256:")
	p.must("delete", "web")
}
