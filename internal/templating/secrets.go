// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"net"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/secrets"
)

// SecretFunctions returns the functions that generate secrets from the source in the context.
func SecretFunctions(ctx context.Context) map[string]any {
	return map[string]any{
		"generatedPassword": func(name string, length int, sets ...string) (string, error) {
			return generated(ctx, func(s *secrets.Source) (string, error) {
				return s.Password(name, secrets.PasswordOptions{Length: length, Sets: sets})
			})
		},
		"generatedBytes": func(name string, size int) ([]byte, error) {
			return generated(ctx, func(s *secrets.Source) ([]byte, error) { return s.Bytes(name, size) })
		},
		"generatedUUID": func(name string) (string, error) {
			return generated(ctx, func(s *secrets.Source) (string, error) { return s.UUID(name) })
		},
		"generatedCertificate": func(name string, hosts ...string) (map[string]any, error) {
			return generated(ctx, func(s *secrets.Source) (map[string]any, error) {
				authority, err := s.Authority(name, secrets.AuthorityOptions{})
				if err != nil {
					return nil, err
				}
				options := secrets.CertificateOptions{}
				for _, host := range hosts {
					if address := net.ParseIP(host); address != nil {
						options.IPAddresses = append(options.IPAddresses, address)
					} else {
						options.DNSNames = append(options.DNSNames, host)
					}
				}
				pair, err := authority.Sign(name, options)
				return map[string]any{"ca": string(pair.CA), "certificate": string(pair.Certificate), "privateKey": string(pair.PrivateKey)}, err
			})
		},
		"generatedSSHKey": func(name string) (map[string]any, error) {
			return generated(ctx, func(s *secrets.Source) (map[string]any, error) {
				key, err := s.SSHKey(name)
				return map[string]any{"privateKey": string(key.PrivateKey), "publicKey": string(key.PublicKey)}, err
			})
		},
	}
}

func generated[T any](ctx context.Context, generate func(*secrets.Source) (T, error)) (T, error) {
	source, err := generating.Secrets.From(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return generate(source)
}
