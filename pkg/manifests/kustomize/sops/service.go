// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sops

import (
	"bytes"
	"context"
	"errors"
	"io"

	"filippo.io/age"
	agearmor "filippo.io/age/armor"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/getsops/sops/v3/keyservice"
	"google.golang.org/grpc"
)

var (
	// errNoKey says that there is no key of the needed kind, or not the right one.
	errNoKey    = errors.New("none of the given keys matches")
	errReadOnly = errors.New("encrypting is not supported")
)

// ownKeys decrypts with given keys, in the place of SOPS's own service, which looks for keys everywhere.
type ownKeys struct {
	identities []age.Identity
	entities   openpgp.EntityList
}

var _ keyservice.KeyServiceClient = &ownKeys{}

// Encrypt fails.
func (o *ownKeys) Encrypt(context.Context, *keyservice.EncryptRequest, ...grpc.CallOption) (*keyservice.EncryptResponse, error) {
	return nil, errReadOnly
}

// Decrypt decrypts the key of a file.
func (o *ownKeys) Decrypt(_ context.Context, request *keyservice.DecryptRequest, _ ...grpc.CallOption) (*keyservice.DecryptResponse, error) {
	var plain []byte
	var err error
	switch request.GetKey().GetKeyType().(type) {
	case *keyservice.Key_AgeKey:
		plain, err = o.decryptAge(request.GetCiphertext())
	case *keyservice.Key_PgpKey:
		plain, err = o.decryptPGP(request.GetCiphertext())
	default:
		err = errNoKey
	}
	if err != nil {
		return nil, err
	}
	return &keyservice.DecryptResponse{Plaintext: plain}, nil
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

// cloudKeys are those that clouds keep; SOPS's own service would also serve others.
type cloudKeys struct{ keyservice.KeyServiceClient }

// Decrypt asks the service that keeps the key.
func (c cloudKeys) Decrypt(ctx context.Context, request *keyservice.DecryptRequest, options ...grpc.CallOption) (*keyservice.DecryptResponse, error) {
	switch request.GetKey().GetKeyType().(type) {
	case *keyservice.Key_AgeKey, *keyservice.Key_PgpKey:
		return nil, errNoKey
	default:
		return c.KeyServiceClient.Decrypt(ctx, request, options...)
	}
}

// inquiry asks all services on behalf of one file, and remembers what went wrong besides that they do not have the key.
type inquiry struct {
	services []keyservice.KeyServiceClient
	failures []error
}

var _ keyservice.KeyServiceClient = &inquiry{}

// Encrypt fails.
func (i *inquiry) Encrypt(context.Context, *keyservice.EncryptRequest, ...grpc.CallOption) (*keyservice.EncryptResponse, error) {
	return nil, errReadOnly
}

// Decrypt returns the first answer.
func (i *inquiry) Decrypt(ctx context.Context, request *keyservice.DecryptRequest, options ...grpc.CallOption) (*keyservice.DecryptResponse, error) {
	for _, service := range i.services {
		response, err := service.Decrypt(ctx, request, options...)
		if err == nil {
			return response, nil
		}
		if !errors.Is(err, errNoKey) {
			i.failures = append(i.failures, err)
		}
	}
	return nil, errNoKey
}
