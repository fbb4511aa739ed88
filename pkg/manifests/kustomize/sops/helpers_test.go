// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sops_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	gosops "github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/cmd/sops/formats"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/pgp"
	"github.com/getsops/sops/v3/shamir"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	"github.com/getsops/sops/v3/stores/yaml"

	"github.com/component-operator/runtime/pkg/manifests/kustomize/sops"
)

// key is a pair of keys, of age or PGP.
type key struct {
	// private is what the options take.
	private []byte
	// name is how SOPS calls the key.
	name      string
	recipient func() keys.MasterKey
}

func ageKey(tb testing.TB) key {
	tb.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		tb.Fatal(err)
	}
	recipient := identity.Recipient().String()
	return key{private: []byte("# created by a test\n" + identity.String() + "\n"), name: recipient, recipient: func() keys.MasterKey {
		return &sopsage.MasterKey{Recipient: recipient}
	}}
}

// pgpKey keeps the public part in a file of the test; the key ring of the user is not involved.
func pgpKey(tb testing.TB) key {
	tb.Helper()
	entity, err := openpgp.NewEntity("operator", "", "operator@example.io", nil)
	if err != nil {
		tb.Fatal(err)
	}
	var public bytes.Buffer
	if err := entity.Serialize(&public); err != nil {
		tb.Fatal(err)
	}
	ring := filepath.Join(tb.TempDir(), "ring.gpg")
	if err := os.WriteFile(ring, public.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	fingerprint := pgp.NewMasterKeyFromFingerprint(strings.ToUpper(hex.EncodeToString(entity.PrimaryKey.Fingerprint))).Fingerprint
	return key{private: armored(tb, entity), name: fingerprint, recipient: func() keys.MasterKey {
		master := pgp.NewMasterKeyFromFingerprint(fingerprint)
		pgp.PubRing(ring).ApplyToMasterKey(master)
		return master
	}}
}

// armored returns the private parts of a key as text.
func armored(tb testing.TB, entity *openpgp.Entity) []byte {
	tb.Helper()
	var text bytes.Buffer
	writer, err := armor.Encode(&text, openpgp.PrivateKeyType, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if err := entity.SerializePrivateWithoutSigning(writer, nil); err != nil {
		tb.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	text.WriteByte('\n')
	return text.Bytes()
}

// group returns one group of keys, of which any decrypts.
func group(all ...key) []gosops.KeyGroup {
	var group gosops.KeyGroup
	for _, key := range all {
		group = append(group, key.recipient())
	}
	return []gosops.KeyGroup{group}
}

func storeFor(format formats.Format) gosops.Store {
	defaults := config.NewStoresConfig()
	switch format {
	case formats.Yaml:
		return yaml.NewStore(&defaults.YAML)
	case formats.Json:
		return json.NewStore(&defaults.JSON)
	case formats.Dotenv:
		return dotenv.NewStore(&defaults.Dotenv)
	case formats.Ini:
		return ini.NewStore(&defaults.INI)
	case formats.Binary:
		return json.NewBinaryStore(&defaults.JSONBinary)
	}
	return nil
}

// encrypt does what "sops encrypt" does. The metadata say for whom, and what else is special.
func encrypt(tb testing.TB, path, plain string, metadata gosops.Metadata) string {
	tb.Helper()
	store := storeFor(formats.FormatForPath(path))
	branches, err := store.LoadPlainFile([]byte(plain))
	if err != nil {
		tb.Fatal(err)
	}
	metadata.Version = "3.13.3"
	metadata.LastModified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if metadata.EncryptedRegex == "" {
		metadata.UnencryptedSuffix = gosops.DefaultUnencryptedSuffix
	}
	tree := gosops.Tree{Branches: branches, Metadata: metadata}
	dataKey := make([]byte, 32)
	_, _ = rand.Read(dataKey) // never fails
	parts := [][]byte{dataKey}
	if len(metadata.KeyGroups) > 1 {
		if parts, err = shamir.Split(dataKey, len(metadata.KeyGroups), metadata.ShamirThreshold); err != nil {
			tb.Fatal(err)
		}
	}
	for i, group := range metadata.KeyGroups {
		for _, master := range group {
			if err := master.Encrypt(parts[i]); err != nil {
				tb.Fatal(err)
			}
		}
	}
	cipher := aes.NewCipher()
	mac, err := tree.Encrypt(dataKey, cipher)
	if err != nil {
		tb.Fatal(err)
	}
	if tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(mac, dataKey, metadata.LastModified.Format(time.RFC3339)); err != nil {
		tb.Fatal(err)
	}
	encrypted, err := store.EmitEncryptedFile(tree)
	if err != nil {
		tb.Fatal(err)
	}
	return string(encrypted)
}

func newDecryptor(tb testing.TB, options sops.Options) *sops.Decryptor {
	tb.Helper()
	decryptor, err := sops.NewDecryptor(options)
	if err != nil {
		tb.Fatal(err)
	}
	return decryptor
}

func expectError(tb testing.TB, err error, parts ...string) {
	tb.Helper()
	if err == nil {
		tb.Fatal("got no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			tb.Errorf("got error %q, which lacks %q", err, part)
		}
	}
}
