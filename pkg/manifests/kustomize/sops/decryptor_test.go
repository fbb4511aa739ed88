// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sops_test

import (
	"regexp"
	"strings"
	"testing"

	gosops "github.com/getsops/sops/v3"

	"github.com/component-operator/runtime/pkg/manifests/kustomize/sops"
)

// plainFiles has one file of each format, in the layout in which SOPS writes it.
var plainFiles = map[string]string{
	"app/secret.yaml":   "# a comment\nkind: Secret\nstringData:\n    password: hunter2\n    port: 5432\n    list:\n        - true\n        - 1.5\n---\nkind: Secret\nstringData:\n    password: swordfish\n",
	"app/secret.yml":    "password: hunter2\n",
	"app/secret.json":   "{\n\t\"password\": \"hunter2\",\n\t\"port\": 5432\n}\n",
	"app/settings.env":  "# a comment\nPASSWORD=hunter2\nTEXT=two\\nlines\n",
	"app/settings.ini":  "[database]\npassword = hunter2\n",
	"app/keystore.p12":  "\x00\x01\xfe binary {{ no template }}",
	"app/secret.yaml.t": "password: hunter2 # the ending is unknown, so this is not YAML\n",
}

func TestFormats(t *testing.T) {
	t.Parallel()
	keys := map[string]key{"age": ageKey(t), "PGP": pgpKey(t)}
	for kind, key := range keys {
		decryptor := newDecryptor(t, sops.Options{AgeIdentities: keys["age"].private, PGPPrivateKeys: keys["PGP"].private})
		for path, plain := range plainFiles {
			t.Run(kind+"/"+path, func(t *testing.T) {
				t.Parallel()
				encrypted := encrypt(t, path, plain, gosops.Metadata{KeyGroups: group(key)})
				if strings.Contains(encrypted, "hunter2") || encrypted == plain {
					t.Fatalf("the file is not encrypted:\n%s", encrypted)
				}
				got, err := decryptor.Decrypt([]byte(encrypted), path)
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != plain {
					t.Errorf("got %q, want %q", got, plain)
				}
			})
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	mine, other, ring := ageKey(t), ageKey(t), pgpKey(t)
	cases := map[string]struct {
		reason  string
		groups  []gosops.KeyGroup
		options sops.Options
		err     []string
	}{
		"SecondOfFile": {
			reason: "a file may be encrypted for several, of whom each can decrypt it", groups: group(other, mine),
			options: sops.Options{AgeIdentities: mine.private},
		},
		"SecondBlock": {
			reason: "armored keys may be concatenated", groups: group(ring),
			options: sops.Options{PGPPrivateKeys: append(pgpKey(t).private, ring.private...)},
		},
		"EnoughGroups": {
			reason:  "the parts of two groups make the key",
			groups:  append(append(group(mine), group(ring)...), group(other)...),
			options: sops.Options{AgeIdentities: mine.private, PGPPrivateKeys: ring.private},
		},
		"TooFewGroups": {
			reason:  "one part is not enough",
			groups:  append(append(group(mine), group(ring)...), group(other)...),
			options: sops.Options{AgeIdentities: mine.private},
			err:     []string{"keys other than the given ones", "age " + mine.name, "pgp " + ring.name, "age " + other.name, "in 3 groups, of which 2 are needed"},
		},
		"Others": {
			reason: "who it is for is said", groups: group(other, ring), options: sops.Options{AgeIdentities: mine.private, PGPPrivateKeys: pgpKey(t).private},
			err: []string{"keys other than the given ones: pgp " + ring.name + ", age " + other.name},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			metadata := gosops.Metadata{KeyGroups: tc.groups}
			if len(tc.groups) > 1 {
				metadata.ShamirThreshold = 2
			}
			encrypted := encrypt(t, "a.yaml", "password: hunter2\n", metadata)
			got, err := newDecryptor(t, tc.options).Decrypt([]byte(encrypted), "a.yaml")
			if tc.err != nil {
				expectError(t, err, tc.err...)
				return
			}
			if err != nil || string(got) != "password: hunter2\n" {
				t.Errorf("%s: got %q, error %v", tc.reason, got, err)
			}
		})
	}
}

// TestEscapedValues: a file that another program has written again is still an encrypted one.
func TestEscapedValues(t *testing.T) {
	t.Parallel()
	key := ageKey(t)
	encrypted := encrypt(t, "a.json", plainFiles["app/secret.json"], gosops.Metadata{KeyGroups: group(key)})
	escaped := strings.NewReplacer("/", `\/`, "+", `\u002B`, "=", `\u003d`).Replace(encrypted)
	if escaped == encrypted {
		t.Fatal("there is nothing to escape")
	}
	got, err := newDecryptor(t, sops.Options{AgeIdentities: key.private}).Decrypt([]byte(escaped), "a.json")
	if err != nil || string(got) != plainFiles["app/secret.json"] {
		t.Errorf("got %q, error %v", got, err)
	}
}

func TestPlainFiles(t *testing.T) {
	t.Parallel()
	decryptor := newDecryptor(t, sops.Options{})
	files := map[string]string{
		"values.yaml":   "sops: {enabled: true, mac: none}\n",
		"template.yaml": "{{- if .sops }}\nkind: [\n",
		"README.md":     "Values look like `ENC[AES256_GCM,data:...,type:str]`.\n",
		"binary":        "\x00\xff",
	}
	for path, plain := range plainFiles {
		files[path] = plain
	}
	for path, plain := range files {
		got, err := decryptor.Decrypt([]byte(plain), path)
		if err != nil || string(got) != plain {
			t.Errorf("%s: got %q, error %v", path, got, err)
		}
	}
}

// TestChangedFiles: what was changed is refused, and what it contained stays secret.
func TestChangedFiles(t *testing.T) {
	t.Parallel()
	key := ageKey(t)
	decryptor := newDecryptor(t, sops.Options{AgeIdentities: key.private})
	encrypted := encrypt(t, "a.yaml", "password: hunter2\nuser: admin1\n", gosops.Metadata{KeyGroups: group(key)})
	replace := func(pattern, replacement string) string {
		changed := regexp.MustCompile(pattern).ReplaceAllString(encrypted, replacement)
		if changed == encrypted {
			t.Fatalf("%s is not found in\n%s", pattern, encrypted)
		}
		return changed
	}
	cases := map[string]struct{ path, content, err string }{
		"Added":          {content: "role: admin\n" + encrypted, err: "value role was changed after it was encrypted"},
		"Removed":        {content: replace(`(?m)^user: .*\n`, ""), err: "the checksum (mac) does not match"},
		"Moved":          {content: replace(`(?m)^password: (.*)\nuser: (.*)$`, "password: $2\nuser: $1"), err: "value password was changed after it was encrypted"},
		"TypeThatPanics": {content: replace(`(?m)^(password: .*),type:str`, "$1,type:bytes"), err: "SOPS panics on it"},
		"NoMAC":          {content: replace(`(?m)^    mac: .*\n`, ""), err: "the checksum (mac) does not match"},
		"OtherMAC":       {content: replace(`(?m)^    mac: .*\n`, "    mac: "+regexp.MustCompile(`ENC.*`).FindString(encrypted)+"\n"), err: "the checksum (mac) cannot be decrypted"},
		"DamagedKey":     {content: replace(`-----BEGIN AGE ENCRYPTED FILE-----`, "-----BEGIN-----"), err: "decrypting its key, which is encrypted for age " + key.name},
		"NoSection":      {content: replace(`(?s)sops:.*`, ""), err: "is not an encrypted file of format yaml: sops metadata not found"},
		"OtherName":      {content: encrypted, path: "a.yaml.tpl", err: "by its name it is of format binary, but it was encrypted as yaml; such a file must have a name ending with .yaml or .yml"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := tc.path
			if path == "" {
				path = "a.yaml"
			}
			got, err := decryptor.Decrypt([]byte(tc.content), path)
			if got != nil {
				t.Errorf("got %q", got)
			}
			expectError(t, err, tc.err)
			if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "AGE-SECRET-KEY")) {
				t.Errorf("the error tells a secret: %s", err)
			}
		})
	}
}
