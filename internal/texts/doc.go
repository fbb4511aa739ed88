// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package texts shortens and compares texts, and removes values from messages and from Secrets.
//
// # Redaction
//
// An API server that refuses an object quotes the refused values. More people can read the places that show such
// messages (conditions, events, logs and terminals) than can read the object. Redacted messages keep the field and the
// rule. Strings are removed for all kinds, because objects of any kind may hold secrets, except names, quantities,
// names of types, and those of fields that have a fixed set of values. Numbers and booleans remain, except in the
// contents of Secrets and ConfigMaps and in environment variables. If a request is about a Secret, the values of the
// Secret are removed wherever they occur in the message.
//
// It is not possible to parse the texts of the cluster's policies and admission webhooks. They stay as they are,
// apart from values of Secrets.
package texts
