// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sops_test

import (
	"encoding/base64"
	"testing"
	"testing/fstest"

	gosops "github.com/getsops/sops/v3"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/manifests/kustomize/sops"
	"github.com/component-operator/runtime/pkg/types"
)

var _ manifests.Decryptor = &sops.Decryptor{}

// TestKustomization has an encrypted file in each place where a kustomization can have one.
func TestKustomization(t *testing.T) {
	t.Parallel()
	mine, ring := ageKey(t), pgpKey(t)
	fsys := fstest.MapFS{}
	add := func(name, content string) { fsys[name] = &fstest.MapFile{Data: []byte(content)} }
	addEncrypted := func(name, content string, metadata gosops.Metadata) {
		metadata.KeyGroups = group(mine, ring)
		add(name, encrypt(t, name, content, metadata))
	}
	add("app/.component-config.yaml", "includedFiles: [../common/banner.txt]\nincludedKustomizations: [../included]\n")
	add("app/kustomization.yaml", `resources: [manifest.yaml, ../included, ../outside]
generatorOptions: {disableNameSuffixHash: true}
secretGenerator:
- name: generated
  files: [key.bin]
  envs: [settings.env]
- name: foreign
  files: [../elsewhere/settings.ini]
patches: [{path: patch.yaml}]
`)
	partly := gosops.Metadata{EncryptedRegex: "^(data|stringData)$"}
	addEncrypted("app/manifest.yaml", secret("manifest", "password: '{{ .user }}:hunter2'", "banner: '{{ readFile \"../common/banner.txt\" | toString }}'"), partly)
	addEncrypted("app/patch.yaml", secret("manifest", "patched: swordfish"), partly)
	addEncrypted("app/key.bin", "\x01\x02{{ name }}", gosops.Metadata{})
	addEncrypted("app/settings.env", "TOKEN=abc\n", gosops.Metadata{})
	addEncrypted("common/banner.txt", "hello", gosops.Metadata{})
	add("included/kustomization.yaml", "resources: [secret.yaml]\n")
	addEncrypted("included/secret.yaml", secret("included", "password: '{{ .user }}'"), partly)
	add("outside/kustomization.yaml", "resources: [secret.yaml]\n")
	addEncrypted("outside/secret.yaml", secret("outside", "password: '{{ no template }}'"), partly)
	addEncrypted("elsewhere/settings.ini", "[a]\nb = c\n", gosops.Metadata{})

	want := map[string]map[string]string{
		"manifest":  {"password": "admin:hunter2", "banner": "hello", "patched": "swordfish"},
		"included":  {"password": "admin"},
		"outside":   {"password": "{{ no template }}"},
		"generated": {"key.bin": "\x01\x02web", "TOKEN": "abc"},
		"foreign":   {"settings.ini": "[a]\nb = c\n"},
	}
	for name, options := range map[string]sops.Options{"age": {AgeIdentities: mine.private}, "PGP": {PGPPrivateKeys: ring.private}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			generator, err := kustomize.New(fsys, "app", kustomize.Options{Decryptor: newDecryptor(t, options)})
			if err != nil {
				t.Fatal(err)
			}
			objects, err := generator.Generate(t.Context(), "shop", "web", types.UnstructurableMap{"user": "admin"})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]map[string]string{}
			for _, object := range objects {
				content := map[string]string{}
				strings, _, _ := unstructured.NestedStringMap(object.(*unstructured.Unstructured).Object, "stringData")
				for key, value := range strings {
					content[key] = value
				}
				encoded, _, _ := unstructured.NestedStringMap(object.(*unstructured.Unstructured).Object, "data")
				for key, value := range encoded {
					raw, err := base64.StdEncoding.DecodeString(value)
					if err != nil {
						t.Fatal(err)
					}
					content[key] = string(raw)
				}
				got[object.GetName()] = content
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	_, err := kustomize.New(fsys, "app", kustomize.Options{Decryptor: newDecryptor(t, sops.Options{})})
	expectError(t, err, "decrypting app/key.bin: ", "keys other than the given ones", mine.name)
}

// secret is a manifest with the given lines as stringData, in SOPS's layout.
func secret(name string, lines ...string) string {
	text := "apiVersion: v1\nkind: Secret\nmetadata:\n    name: " + name + "\nstringData:\n"
	for _, line := range lines {
		text += "    " + line + "\n"
	}
	return text
}
