// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package sops decrypts files that were encrypted by SOPS, so that a kustomization can contain secrets.
//
// A [Decryptor] is what the option Decryptor of a Kustomize generator takes. It decrypts with the age identities and
// PGP keys that it was given, and with no others: neither the environment, nor files or the key ring of the user, nor a
// gpg program or agent is asked, and key management services of clouds only if the options say so.
//
// The package is a module of its own, because SOPS brings along the SDKs of several clouds, which operators without
// encrypted files need not have.
package sops
