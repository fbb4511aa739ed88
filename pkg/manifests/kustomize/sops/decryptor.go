// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sops

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/keyservice"
)

// Options say what a Decryptor decrypts with. Without any keys it lets plain files pass, and refuses encrypted ones.
type Options struct {
	// AgeIdentities are the private keys of age, one per line, as in a file keys.txt: empty lines and those that begin
	// with # are ignored. Identities of plugins and SSH keys are refused. Defaults to none.
	AgeIdentities []byte
	// PGPPrivateKeys are the private keys of PGP, armored, one block after the other. Keys that are protected by a
	// passphrase are refused. Defaults to none.
	PGPPrivateKeys []byte
	// AskCloudServices makes that the key management services that a file mentions (of AWS, Azure, Google, Huawei, and
	// HashiCorp Vault) are asked, with the credentials that their SDKs find in the environment, which also decide for
	// how long. Defaults to false.
	AskCloudServices bool
}

// Decryptor decrypts the files that are encrypted by SOPS, and leaves others as they are. It is safe for concurrent
// use.
type Decryptor struct {
	services []keyservice.KeyServiceClient
}

// NewDecryptor returns a Decryptor, or an error that tells which key cannot be read, but not its text. What is given is
// not used after that.
func NewDecryptor(options Options) (*Decryptor, error) {
	identities, err := parseIdentities(options.AgeIdentities)
	if err != nil {
		return nil, fmt.Errorf("reading the age identities: %w", err)
	}
	entities, err := parsePrivateKeys(options.PGPPrivateKeys)
	if err != nil {
		return nil, fmt.Errorf("reading the PGP private keys: %w", err)
	}
	services := []keyservice.KeyServiceClient{&ownKeys{identities: identities, entities: entities}}
	if options.AskCloudServices {
		services = append(services, cloudKeys{keyservice.NewLocalClient()})
	}
	return &Decryptor{services: services}, nil
}

// encryptedValue matches a complete value. Each file that is encrypted has at least one, the encrypted checksum. A
// program that has written the file again may have escaped some characters, as \/ or \u003d.
var encryptedValue = regexp.MustCompile(`ENC\[AES256_GCM,data:[A-Za-z0-9+/=\\]*,iv:[A-Za-z0-9+/=\\]+,tag:[A-Za-z0-9+/=\\]+,type:[a-z]+\]`)

// Decrypt returns the plain form of a file that is encrypted, and any other as it is. As for SOPS, the end of the path
// decides about the format: .yaml, .yml, .json, .env, .ini, and binary for all others. It fails if the file is
// encrypted for other keys, has been changed since it was encrypted, or contains encrypted values although it has not
// the form of an encrypted file; nothing that is encrypted passes.
func (d *Decryptor) Decrypt(input []byte, path string) ([]byte, error) {
	if !encryptedValue.Match(input) {
		return input, nil
	}
	return d.decrypt(input, path)
}

func (d *Decryptor) decrypt(input []byte, path string) (output []byte, err error) {
	defer func() {
		// SOPS does so at some files that were changed. The cause may contain what was decrypted.
		if cause := recover(); cause != nil {
			output, err = nil, errors.New("it was changed after it was encrypted: SOPS panics on it")
		}
	}()
	all := formats()
	store := all[slices.IndexFunc(all, func(f format) bool { return f.matches(path) })].store
	tree, err := store.LoadEncryptedFile(input)
	if err != nil {
		return nil, refusal(input, store.Name(), err)
	}
	dataKey, err := d.dataKey(&tree.Metadata)
	if err != nil {
		return nil, err
	}
	if err := decryptTree(tree, dataKey); err != nil {
		return nil, err
	}
	output, err = store.EmitPlainFile(tree.Branches)
	if err != nil {
		// The cause may contain what was decrypted.
		return nil, fmt.Errorf("what was decrypted cannot be written as %s", store.Name())
	}
	return output, nil
}

// refusal says why a file with encrypted values could not be loaded.
func refusal(input []byte, expected string, cause error) error {
	for _, other := range formats() {
		if _, err := other.store.LoadEncryptedFile(input); err == nil {
			return fmt.Errorf("by its name it is of format %s, but it was encrypted as %s; such a file must have a name %s",
				expected, other.store.Name(), other.description())
		}
	}
	return fmt.Errorf("it has values that are encrypted by SOPS, but is not an encrypted file of format %s: %w", expected, cause)
}

// dataKey returns the key of the file, which is itself encrypted, by one key at least.
func (d *Decryptor) dataKey(metadata *sops.Metadata) ([]byte, error) {
	asked := &inquiry{services: d.services}
	key, err := metadata.GetDataKeyWithKeyServices([]keyservice.KeyServiceClient{asked}, sops.DefaultDecryptionOrder)
	if err == nil {
		return key, nil
	}
	recipients := describeRecipients(metadata)
	if len(asked.failures) > 0 {
		return nil, fmt.Errorf("decrypting its key, which is encrypted for %s: %w", recipients, errors.Join(asked.failures...))
	}
	return nil, fmt.Errorf("it is encrypted for keys other than the given ones: %s", recipients)
}

func describeRecipients(metadata *sops.Metadata) string {
	var recipients []string
	for _, group := range metadata.KeyGroups {
		for _, key := range group {
			recipients = append(recipients, key.TypeToIdentifier()+" "+key.ToString())
		}
	}
	text := strings.Join(recipients, ", ")
	if groups := len(metadata.KeyGroups); groups > 1 {
		return fmt.Sprintf("%s in %d groups, of which %d are needed", text, groups, metadata.ShamirThreshold)
	}
	return text
}

// decryptTree also checks that nothing was added, removed, or changed. The values of the tree are changed in place.
func decryptTree(tree sops.Tree, dataKey []byte) error {
	cipher := discreetCipher{aes.NewCipher()}
	computed, err := tree.Decrypt(dataKey, cipher)
	if err != nil {
		return err
	}
	recorded, err := cipher.Decrypt(tree.Metadata.MessageAuthenticationCode, dataKey, tree.Metadata.LastModified.Format(time.RFC3339))
	if err != nil {
		return errors.New("it was changed after it was encrypted: the checksum (mac) cannot be decrypted")
	}
	if recorded != computed {
		return errors.New("it was changed after it was encrypted: the checksum (mac) does not match")
	}
	return nil
}

// discreetCipher keeps what it has decrypted out of errors. A value whose type was changed is decrypted, and then
// not understood.
type discreetCipher struct{ sops.Cipher }

// Decrypt names the path of the value in errors.
func (c discreetCipher) Decrypt(ciphertext string, key []byte, path string) (any, error) {
	plain, err := c.Cipher.Decrypt(ciphertext, key, path)
	if err != nil {
		return nil, fmt.Errorf("value %s was changed after it was encrypted, or encrypted by another key", strings.TrimSuffix(path, ":"))
	}
	return plain, nil
}
