// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sops_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	gosops "github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/hcvault"
	"github.com/getsops/sops/v3/keys"

	"github.com/component-operator/runtime/pkg/manifests/kustomize/sops"
)

// TestUnusableKeys: the error says which key it is, and not what it is.
func TestUnusableKeys(t *testing.T) {
	t.Parallel()
	good := ageKey(t).private
	locked, err := openpgp.NewEntity("locked", "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := locked.EncryptPrivateKeys([]byte("passphrase"), nil); err != nil {
		t.Fatal(err)
	}
	ring := pgpKey(t).private
	cases := map[string]struct {
		options sops.Options
		err     string
	}{
		"NoIdentity":    {sops.Options{AgeIdentities: append(bytes.Clone(good), "AGE-SECRET-KEY-1TOPSECRET\n"...)}, "reading the age identities: line 3 is not an identity"},
		"NotArmored":    {sops.Options{PGPPrivateKeys: []byte("TOPSECRET")}, "reading the PGP private keys: there is no armored key"},
		"SecondDamaged": {sops.Options{PGPPrivateKeys: append(bytes.Clone(ring), ring[:len(ring)/2]...)}, "block 2: "},
		"Passphrase":    {sops.Options{PGPPrivateKeys: armored(t, locked)}, "it is protected by a passphrase; remove that"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sops.NewDecryptor(tc.options)
			expectError(t, err, tc.err)
			if err != nil && (strings.Contains(err.Error(), "TOPSECRET") || strings.Contains(err.Error(), string(good[len(good)-40:]))) {
				t.Errorf("the error tells a secret: %s", err)
			}
		})
	}
}

// TestNoOtherKeys: keys that SOPS itself would find on its own are not used. It changes the environment, so it is not
// parallel.
func TestNoOtherKeys(t *testing.T) {
	key, ring := ageKey(t), pgpKey(t)
	home := t.TempDir()
	file := filepath.Join(home, "sops", "age", "keys.txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, key.private, 0o600); err != nil {
		t.Fatal(err)
	}
	// Running one of these programs leaves a trace.
	trace := filepath.Join(home, "trace")
	program := filepath.Join(home, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+trace+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("SOPS_AGE_KEY", string(key.private))
	t.Setenv("SOPS_AGE_KEY_FILE", file)
	t.Setenv("SOPS_AGE_KEY_CMD", program)
	t.Setenv("SOPS_GPG_EXEC", program)

	encrypted := encrypt(t, "a.yaml", "password: hunter2\n", gosops.Metadata{KeyGroups: group(key, ring)})
	if _, err := os.Stat(trace); err == nil {
		t.Fatal("the test itself has run the program")
	}
	for _, ask := range []bool{false, true} {
		_, err := newDecryptor(t, sops.Options{AskCloudServices: ask}).Decrypt([]byte(encrypted), "a.yaml")
		expectError(t, err, "keys other than the given ones")
	}
	if _, err := os.Stat(trace); err == nil {
		t.Error("a program was run")
	}
}

// TestCloudServices: a service is asked if the options say so, and not without that. It changes the environment, so it
// is not parallel.
func TestCloudServices(t *testing.T) {
	t.Setenv("VAULT_TOKEN", "token")
	var requests atomic.Int64
	broken := false
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		requests.Add(1)
		if broken {
			response.WriteHeader(http.StatusForbidden)
			return
		}
		var given map[string]string
		raw, _ := io.ReadAll(request.Body)
		_ = json.Unmarshal(raw, &given)
		answer := map[string]string{"plaintext": strings.TrimPrefix(given["ciphertext"], "vault:v1:")}
		if strings.Contains(request.URL.Path, "/encrypt/") {
			answer = map[string]string{"ciphertext": "vault:v1:" + given["plaintext"]}
		}
		_ = json.NewEncoder(response).Encode(map[string]any{"data": answer})
	}))
	t.Cleanup(server.Close)
	cloud := key{recipient: func() keys.MasterKey {
		return &hcvault.MasterKey{VaultAddress: server.URL, EnginePath: "transit", KeyName: "operator"}
	}}
	encrypted := []byte(encrypt(t, "a.yaml", "password: hunter2\n", gosops.Metadata{KeyGroups: group(ageKey(t), cloud)}))

	requests.Store(0)
	_, err := newDecryptor(t, sops.Options{AgeIdentities: ageKey(t).private}).Decrypt(encrypted, "a.yaml")
	expectError(t, err, "keys other than the given ones", "hc_vault "+server.URL+"/v1/transit/keys/operator")
	if requests.Load() != 0 {
		t.Errorf("%d requests were made", requests.Load())
	}

	asking := newDecryptor(t, sops.Options{AskCloudServices: true})
	got, err := asking.Decrypt(encrypted, "a.yaml")
	if err != nil || string(got) != "password: hunter2\n" {
		t.Errorf("got %q, error %v", got, err)
	}
	if requests.Load() == 0 {
		t.Error("no request was made")
	}

	broken = true
	_, err = asking.Decrypt(encrypted, "a.yaml")
	expectError(t, err, "decrypting its key, which is encrypted for ", "Vault transit backend")
}
