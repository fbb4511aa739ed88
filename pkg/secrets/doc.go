// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package secrets derives passwords, keys and certificates from a seed: a generator that uses it needs no random numbers,
// so it stays pure, and returns the same values each time.
//
// With the option GeneratedSecrets, a component reconciler keeps a seed for each component, in a Secret beside it.
// Generators get a Source with [github.com/component-operator/runtime/pkg/generator.SecretsFromContext]; templates have
// the functions generatedPassword, generatedBytes, generatedUUID, generatedCertificate and generatedSSHKey.
//
// # Contract
//
// Values depend on the seed, their kind and options, and their name. Values with different names are independent: nobody
// can conclude from one to another, or to the seed. To rotate a value, change its name, for example by a field of the
// spec that is part of it.
//
// Values are derived with HKDF (RFC 5869) and SHA-256. Keys are on the curve P-256, and signatures are deterministic (RFC
// 6979). Later versions of this package return the same values.
package secrets
