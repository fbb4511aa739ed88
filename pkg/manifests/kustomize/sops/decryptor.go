// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package sops decrypts files that were encrypted with SOPS, so that a kustomization can contain secrets.
//
// A [Decryptor] can be the option Decryptor of a Kustomize generator. It decrypts only with the age identities and PGP
// keys in its options. It uses neither the environment, nor the user's files or key ring, nor a gpg program or agent.
// Key management services of clouds are used only if the options allow it.
//
// The package is a module of its own, because SOPS depends on the SDKs of several clouds, which operators without
// encrypted files should not need.
package sops

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	agearmor "filippo.io/age/armor"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	"github.com/getsops/sops/v3/stores/yaml"
	"google.golang.org/grpc"
)

// Options contain the keys of a Decryptor. Without any keys, it passes plain files and refuses encrypted ones.
type Options struct {
	// AgeIdentities are the private keys of age, one per line, as in a file keys.txt: empty lines and lines that begin
	// with # are ignored. Identities of plugins and SSH keys are refused. Defaults to none.
	AgeIdentities []byte
	// PGPPrivateKeys are the private keys of PGP, armored, one block after the other. Keys with a passphrase are
	// refused. Defaults to none.
	PGPPrivateKeys []byte
	// AskCloudServices allows asking the key management services in a file (of AWS, Azure, Google, Huawei, and
	// HashiCorp Vault), with the credentials that their SDKs find in the environment. Timeouts are those of the SDKs.
	// Defaults to false.
	AskCloudServices bool
}

// Decryptor decrypts files that are encrypted with SOPS, and does not change others. It is safe for concurrent use.
type Decryptor struct {
	services []service
}

// NewDecryptor returns a Decryptor. An error reports which key cannot be read, but not its text. The options may be
// changed afterwards.
func NewDecryptor(options Options) (*Decryptor, error) {
	identities, err := parseIdentities(options.AgeIdentities)
	if err != nil {
		return nil, fmt.Errorf("reading the age identities: %w", err)
	}
	entities, err := parsePrivateKeys(options.PGPPrivateKeys)
	if err != nil {
		return nil, fmt.Errorf("reading the PGP private keys: %w", err)
	}
	services := []service{(&ownKeys{identities: identities, entities: entities}).decrypt}
	if options.AskCloudServices {
		services = append(services, askCloud)
	}
	return &Decryptor{services: services}, nil
}

// encryptedValue matches a complete value. Each encrypted file has at least one, the encrypted checksum. A program that
// has rewritten the file may have escaped some characters, as \/ or \u003d.
var encryptedValue = regexp.MustCompile(`ENC\[AES256_GCM,data:[A-Za-z0-9+/=\\]*,iv:[A-Za-z0-9+/=\\]+,tag:[A-Za-z0-9+/=\\]+,type:[a-z]+\]`)

// Decrypt returns the plain form of an encrypted file, and all other files unchanged. As in SOPS, the end of the path
// determines the format: .yaml, .yml, .json, .env, .ini, and binary for all others. It fails if the file is encrypted
// for other keys, was changed after it was encrypted, or contains encrypted values without being a valid encrypted
// file. Encrypted values never pass.
func (d *Decryptor) Decrypt(input []byte, path string) ([]byte, error) {
	if !encryptedValue.Match(input) {
		return input, nil
	}
	return d.decrypt(input, path)
}

func (d *Decryptor) decrypt(input []byte, path string) (output []byte, err error) {
	defer func() {
		// SOPS panics on some files that were changed. The cause may contain decrypted text.
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
		// The cause may contain decrypted text.
		return nil, fmt.Errorf("what was decrypted cannot be written as %s", store.Name())
	}
	return output, nil
}

// refusal explains why a file with encrypted values could not be loaded.
func refusal(input []byte, expected string, cause error) error {
	for _, other := range formats() {
		if _, err := other.store.LoadEncryptedFile(input); err == nil {
			return fmt.Errorf("by its name it is of format %s, but it was encrypted as %s; such a file must have a name %s",
				expected, other.store.Name(), other.description())
		}
	}
	return fmt.Errorf("it has values that are encrypted by SOPS, but is not an encrypted file of format %s: %w", expected, cause)
}

// dataKey returns the decrypted key of the file. The file contains it encrypted by at least one key.
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

// decryptTree also checks that nothing was added, removed, or changed. It changes the values of the tree in place.
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

// discreetCipher keeps decrypted text out of errors. If the type of a value was changed, the value is decrypted but
// then cannot be parsed.
type discreetCipher struct{ sops.Cipher }

// Decrypt reports errors with the path of the value.
func (c discreetCipher) Decrypt(ciphertext string, key []byte, path string) (any, error) {
	plain, err := c.Cipher.Decrypt(ciphertext, key, path)
	if err != nil {
		return nil, fmt.Errorf("value %s was changed after it was encrypted, or encrypted by another key", strings.TrimSuffix(path, ":"))
	}
	return plain, nil
}

// format is a format of SOPS.
type format struct {
	store sops.Store
	// endings are the suffixes of file names with this format.
	endings []string
}

// formats returns all formats; the last one is for files with any other ending. They are created for each file, because
// SOPS does not document that its stores may be used concurrently.
func formats() []format {
	defaults := config.NewStoresConfig()
	return []format{
		{yaml.NewStore(&defaults.YAML), []string{".yaml", ".yml"}},
		{json.NewStore(&defaults.JSON), []string{".json"}},
		{dotenv.NewStore(&defaults.Dotenv), []string{".env"}},
		{ini.NewStore(&defaults.INI), []string{".ini"}},
		{json.NewBinaryStore(&defaults.JSONBinary), nil},
	}
}

func (f format) matches(path string) bool {
	return f.endings == nil || slices.ContainsFunc(f.endings, func(ending string) bool { return strings.HasSuffix(path, ending) })
}

func (f format) description() string {
	if f.endings == nil {
		return "with any other ending"
	}
	return "ending with " + strings.Join(f.endings, " or ")
}

// parseIdentities reports only the line of an invalid identity; the errors of the library would contain its text.
func parseIdentities(text []byte) ([]age.Identity, error) {
	var identities []age.Identity
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parsed, err := age.ParseIdentities(strings.NewReader(line))
		if err != nil {
			return nil, fmt.Errorf("line %d is not an identity; must begin with AGE-SECRET-KEY-", number)
		}
		identities = append(identities, parsed...)
	}
	return identities, nil
}

// parsePrivateKeys reads all blocks of a text.
func parsePrivateKeys(text []byte) (openpgp.EntityList, error) {
	var entities openpgp.EntityList
	// Decoding continues where it has stopped only with a reader of this type.
	for reader := bufio.NewReader(bytes.NewReader(text)); ; {
		block, err := armor.Decode(reader)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", len(entities)+1, err)
		}
		if block.Type != openpgp.PrivateKeyType {
			return nil, fmt.Errorf("block %d is a %s; must be a %s", len(entities)+1, block.Type, openpgp.PrivateKeyType)
		}
		found, err := openpgp.ReadKeyRing(block.Body)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", len(entities)+1, err)
		}
		entities = append(entities, found...)
	}
	if len(entities) == 0 && len(bytes.TrimSpace(text)) > 0 {
		return nil, errors.New("there is no armored key; it would begin with -----BEGIN PGP PRIVATE KEY BLOCK-----")
	}
	for _, entity := range entities {
		if err := checkUsable(entity); err != nil {
			return nil, fmt.Errorf("key %X: %w", entity.PrimaryKey.Fingerprint, err)
		}
	}
	return entities, nil
}

// checkUsable checks the parts of a key that can decrypt. The primary key may be missing on purpose.
func checkUsable(entity *openpgp.Entity) error {
	usable := false
	for _, subkey := range entity.Subkeys {
		if subkey.PrivateKey != nil && subkey.PrivateKey.Encrypted {
			return errors.New("it is protected by a passphrase; remove that from the copy that is given to the operator")
		}
		usable = usable || subkey.PrivateKey != nil
	}
	if primary := entity.PrivateKey; primary != nil && !usable {
		if primary.Encrypted {
			return errors.New("it is protected by a passphrase; remove that from the copy that is given to the operator")
		}
		usable = true
	}
	if !usable {
		return errors.New("it has no private part")
	}
	return nil
}

// errNoKey means that there is no key of the needed kind, or only wrong ones.
var errNoKey = errors.New("none of the given keys matches")

// A service decrypts the key of a file, or returns errNoKey.
type service func(ctx context.Context, request *keyservice.DecryptRequest) (plain []byte, err error)

// ownKeys decrypts with the given keys. SOPS's own service would look for keys everywhere.
type ownKeys struct {
	identities []age.Identity
	entities   openpgp.EntityList
}

func (o *ownKeys) decrypt(_ context.Context, request *keyservice.DecryptRequest) ([]byte, error) {
	switch request.GetKey().GetKeyType().(type) {
	case *keyservice.Key_AgeKey:
		return o.decryptAge(request.GetCiphertext())
	case *keyservice.Key_PgpKey:
		return o.decryptPGP(request.GetCiphertext())
	default:
		return nil, errNoKey
	}
}

func (o *ownKeys) decryptAge(ciphertext []byte) ([]byte, error) {
	if len(o.identities) == 0 {
		return nil, errNoKey
	}
	reader, err := age.Decrypt(agearmor.NewReader(bytes.NewReader(ciphertext)), o.identities...)
	if mismatch := (&age.NoIdentityMatchError{}); errors.As(err, &mismatch) {
		return nil, errNoKey
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

func (o *ownKeys) decryptPGP(ciphertext []byte) ([]byte, error) {
	if len(o.entities) == 0 {
		return nil, errNoKey
	}
	block, err := armor.Decode(bytes.NewReader(ciphertext))
	if err != nil {
		return nil, err
	}
	message, err := openpgp.ReadMessage(block.Body, o.entities, nil, nil)
	if errors.Is(err, pgperrors.ErrKeyIncorrect) {
		return nil, errNoKey
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(message.UnverifiedBody)
}

// askCloud serves only the keys in clouds; SOPS's own service would also serve others.
func askCloud(ctx context.Context, request *keyservice.DecryptRequest) ([]byte, error) {
	switch request.GetKey().GetKeyType().(type) {
	case *keyservice.Key_AgeKey, *keyservice.Key_PgpKey:
		return nil, errNoKey
	default:
		response, err := keyservice.NewLocalClient().Decrypt(ctx, request)
		return response.GetPlaintext(), err
	}
}

// inquiry asks all services for the key of one file, and records all errors except for a missing key.
type inquiry struct {
	services []service
	failures []error
}

// Encrypt fails.
func (i *inquiry) Encrypt(context.Context, *keyservice.EncryptRequest, ...grpc.CallOption) (*keyservice.EncryptResponse, error) {
	return nil, errors.New("encrypting is not supported")
}

// Decrypt returns the first answer.
func (i *inquiry) Decrypt(ctx context.Context, request *keyservice.DecryptRequest, _ ...grpc.CallOption) (*keyservice.DecryptResponse, error) {
	for _, ask := range i.services {
		plain, err := ask(ctx, request)
		if err == nil {
			return &keyservice.DecryptResponse{Plaintext: plain}, nil
		}
		if !errors.Is(err, errNoKey) {
			i.failures = append(i.failures, err)
		}
	}
	return nil, errNoKey
}
