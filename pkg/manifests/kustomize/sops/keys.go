// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sops

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// parseIdentities says in errors where an identity stands, never what it is, as the errors of the library would.
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
	// Decoding goes on where it has stopped if it is given this very type.
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

// checkUsable looks at the parts of a key that serve for decryption. A primary key may be missing on purpose.
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
